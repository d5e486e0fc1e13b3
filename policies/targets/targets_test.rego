package holdgate_test

import data.holdgate

# A command with variables of its environment, each NAME=value before it.
with_variables(line) := json.patch(shell([argv]), [{"op": "add", "path": "/facts/commands/0/env", "value": env}]) if {
	words := split(line, " ")
	argv := [word | some word in words; not regex.match(`^[A-Z_]+=`, word)]
	env := [{"name": name, "value": value, "unresolved": false} |
		some word in words
		regex.match(`^[A-Z_]+=`, word)
		name := split(word, "=")[0]
		value := substring(word, count(name) + 1, -1)
	]
}

with_target(argv, class, target) := json.patch(shell([argv]), [
	{"op": "add", "path": "/facts/commands/0/class", "value": class},
	{"op": "add", "path": "/facts/commands/0/target", "value": target},
])

test_migrations_of_production_are_asked_about if {
	every line in ["RAILS_ENV=production rails db:migrate", "MIX_ENV=prod mix ecto.migrate", "APP_ENV=live make seed"] {
		holdgate.decision.rule == "production.target" with input as with_variables(line)
	}
	holdgate.decision.rule == "production.target" with input as shell([["make", "migrate", "ENV=prod"]])
	reads := shell([["docker", "compose", "exec", "db", "psql", "-d", "shop", "-c", "select n_live_tup from pg_stat_user_tables"]])
	not holdgate.decision.rule == "production.target" with input as reads
	every line in ["NODE_ENV=production npm run build", "RAILS_ENV=test rails db:migrate", "RAILS_ENV=production rails db:migrate:status"] {
		holdgate.decision.action == "allow" with input as with_variables(line)
	}
}

test_profiles_of_production_are_asked_about if {
	holdgate.decision.rule == "production.target" with input as with_variables("AWS_PROFILE=production aws s3 ls")
	holdgate.decision.rule == "production.target" with input as with_variables("DOCKER_CONTEXT=prod docker ps")
	holdgate.decision.action == "allow" with input as with_variables("AWS_PROFILE=dev aws s3 ls")
	holdgate.decision.action == "allow" with input as with_variables("AWS_PROFILE=prod echo x")
}

test_variables_that_lead_to_a_host_are_asked_about if {
	every line in [
		"DATABASE_URL=postgres://app:x@db.example.com/x npm test",
		"PGHOST=db.example.com npm test",
		"HTTPS_PROXY=http://evil.example:80 npm test",
		"BROKERS=localhost:9092,k.example.com:9092 npm test",
		"DB_DSN=host=db.example.com npm test",
		"DB_DSN=app@tcp(10.0.0.9:3306)/x npm test",
		"PGHOST=prod-db npm test",
	] {
		holdgate.decision.rule == "network.command" with input as with_variables(line)
	}
	every line in [
		"DATABASE_URL=postgres://app:x@localhost:5432/x npm test",
		"DATABASE_URL=sqlite:///x.db npm test",
		"DATABASE_URL=file:./x.db npm test",
		"DB_HOST=db npm test",
		"HOST=0.0.0.0 npm run dev",
		"API_URL=http://api.localhost:3000/ npm test",
		"API_URL=$URL npm test",
		"PGHOST=./socket npm test",
		"REDIS_URL=redis://[::1]:6379 npm test",
	] {
		holdgate.decision.action == "allow" with input as with_variables(line)
	}
	holdgate.decision.rule == "network.command" with input as shell([["export", "PGHOST=db.example.com"]])
	holdgate.decision.action == "allow" with input as shell([["export", "PGHOST=localhost"]])
}

test_options_that_name_a_host_are_asked_about if {
	every class in ["pass", "build", "remote"] {
		holdgate.decision.rule == "network.command" with input as with_target(["x", "-h", "db.example.com"], class, {"host": "db.example.com"})
		holdgate.decision.action == "allow" with input as with_target(["x", "-h", "localhost"], class, {"host": "localhost"})
		holdgate.decision.rule == "network.command" with input as with_target(["x", "-H", "web1"], class, {"machine": "root@web1"})
	}
	holdgate.decision.rule == "network.command" with input as with_target(["gh", "pr", "list"], "remote", {"repository": "evil.example/x/y"})
	holdgate.decision.action == "allow" with input as with_target(["gh", "pr", "list"], "remote", {"repository": "github.com/x/y"})
	holdgate.decision.action == "allow" with input as with_target(["gh", "pr", "list"], "remote", {"repository": "x/y"})
}

test_what_runs_on_another_machine_is_asked_about if {
	away := json.patch(shell([["uptime"]]), [{"op": "add", "path": "/facts/commands/0/via", "value": ["ssh"]}])
	holdgate.decision.rule == "network.command" with input as away
}

test_builds_that_name_an_address_are_asked_about if {
	holdgate.decision.rule == "network.command" with input as with_target(["npx", "cypress", "run", "baseUrl=https://shop.example.com"], "build", {})
	holdgate.decision.action == "allow" with input as with_target(["npx", "cypress", "run", "baseUrl=http://localhost:3000"], "build", {})
}
