package holdgate

# METADATA
# title: Commands that a variable or a word aims at production
# description: |
#   A build or a script of the project passes; with the stage, the profile or the
#   cluster of production it changes what people use.
# custom:
#   risk: high
decisions contains d if {
	input.facts.commands
	more_than_plain
	count(aimed) > 0
	d := ask("production.target", "high", "The command works with production, as a variable or a word of it says.", sort(aimed))
}

# METADATA
# title: Migrations and the like of a stage that is production
# description: Building for production is no such thing.
# custom:
#   risk: high
aimed contains concat(" ", array.concat(variables_of(c), c.argv)) if {
	some c in input.facts.commands
	class_of(c) in {"build", "project", "remote"}
	some word in array.concat(variables_of(c), array.slice(c.argv, 1, count(c.argv)))
	regex.match(stage_names, lower(word))
	not regex.match(statement, word)
	about_data(c)
}

# A column of a table is no stage ("n_live_tup"); what statements do is judged in sql/sql.rego.
statement := `(?i)^\s*(select|with|explain|show|insert|update|delete)\s`

# METADATA
# title: Commands that use the profile, the context or the project of production
# custom:
#   risk: high
aimed contains concat(" ", array.concat(variables_of(c), c.argv)) if {
	some c in input.facts.commands
	not c.program in assigning
	some v in c.env
	regex.match(`(?i)(PROFILE|CONTEXT|WORKSPACE|PROJECT|SUBSCRIPTION|ACCOUNT|CLUSTER|STACK|SERVICE)(_NAME|_ID)?$`, v.name)
	regex.match(stage_names, lower(v.value))
}

assigning := {"export", "declare", "typeset", "local", "readonly", "echo", "printf", "test", "[", "cd"}

stage_names := `(^|[^a-z0-9])(prod|production|live)([^a-z0-9]|$)`

variables_of(c) := [concat("=", [v.name, v.value]) | some v in object.get(c, "env", [])]

about_data(c) if {
	some word in c.argv
	regex.match(`(?i)flyway|liquibase|migrat(e|ion)|(^|[^a-z])(db|databases?|data-?migrations?|migrat(e|ions?)|seeds?|schema|ecto|prisma|sequelize|knex|typeorm|alembic|flyway|liquibase|goose|dbmate|artisan|doctrine|console|runner|backfill|fixtures?|reset|drop|truncate|purge)([^a-z]|$)`, word)
	not regex.match(`(?i)migrat(e|ions?)[:-](status|list|info|plan)|showmigrations|(^|[^a-z])generate([^a-z]|$)`, concat(" ", c.argv))
}

# METADATA
# title: Hosts that a variable leads programs of the project to
# description: A name without a dot is of the network at hand, as containers have them.
# custom:
#   risk: medium
decisions contains d if {
	input.facts.commands
	more_than_plain
	count(led) > 0
	d := ask("network.command", "medium", "The command reaches the network: a variable leads it to a host that nobody has named.", sort(led))
}

led contains concat("=", [v.name, v.value]) if {
	some c in input.facts.commands
	not c.program in (assigning - {"export"})
	some v in c.env
	leads_to_host(v)
}

led contains word if {
	some c in input.facts.commands
	c.program in {"export", "declare", "typeset"}
	some word in c.argv
	at := indexof(word, "=")
	at > 0
	leads_to_host({"name": substring(word, 0, at), "value": substring(word, at + 1, -1)})
}

leads_to_host(v) if {
	regex.match(`(?i)(^|_)(HOST|HOSTNAME|HOSTADDR|SERVERS?|URL|URI|ADDR|ADDRESS|ENDPOINTS?|DSN|DBSTRING|BROKERS?|PROXY|BOOTSTRAP_SERVERS|NODES|MASTER|ORIGIN)$|^PGHOST(ADDR)?$|^KUBERNETES_MASTER$`, v.name)
	some host in hosts_in(v.value)
	not near_host(host)
}

# METADATA
# title: The hosts in a value that is an address, or a list of them
# custom:
#   risk: medium
hosts_in(value) := {host |
	some part in split(value, ",")
	host := regex.replace(lower(trim_space(part)), `^(?:.*\bhost=|(?:[a-z][a-z0-9+.:-]*://)?(?:[^/]*@)?(?:(?:tcp|udp)\()?)(\[[^\]]*\]|[^/:?# )]*).*$`, "$1")
}

# METADATA
# title: Hosts that a command may be led to unasked
# description: Of this machine, or of the network that containers share, but for production's.
# custom:
#   risk: medium
near_host(host) if trim(host, "[]") in data.settings.network.hosts

near_host(host) if host in {"", "0.0.0.0", "[::]", "::", "host.docker.internal"}

near_host(host) if endswith(host, ".localhost")

near_host(host) if {
	regex.match(`^[a-z_][a-z0-9_-]*$`, host)
	not regex.match(stage_names, host)
}

near_host(host) if startswith(host, "$")

# What is a path, as of a socket, is no host.
near_host(host) if startswith(host, ".")

# METADATA
# title: Commands that run on another machine
# description: What only looks there reaches a host all the same.
# custom:
#   risk: medium
decisions contains d if {
	input.facts.commands
	more_than_plain
	away := {concat(" ", c.argv) | some c in input.facts.commands; some via in c.via; via in {"ssh", "mosh", "sshpass"}}
	count(away) > 0
	d := ask("network.command", "medium", "The command runs on another machine.", sort(away))
}

# METADATA
# title: Commands with an option that names a host
# description: data.settings.grammars says which options do.
# custom:
#   risk: medium
aims_elsewhere(c) if {
	some host in hosts_in(c.target.host)
	not near_host(host)
}

# The program runs there, by whatever name it goes.
aims_elsewhere(c) if {
	some host in hosts_in(c.target.machine)
	not host in data.settings.network.hosts
}

aims_elsewhere(c) if {
	c.program in {"gh", "glab"}
	parts := split(c.target.repository, "/")
	count(parts) > 2
	not its_own(c.program, concat("/", array.concat(["https:/"], parts)))
}
