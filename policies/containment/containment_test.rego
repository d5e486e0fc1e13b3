package holdgate_test

import data.holdgate

all_proven := {"level": "strong", "undo": true, "private": true, "hidden": true, "network": true, "keys": true}

# Each way in which something was not proven.
unproven contains json.patch(all_proven, [{"op": "replace", "path": concat("", ["/", proof]), "value": false}]) if {
	some proof in ["undo", "private", "hidden", "network", "keys"]
}

unproven contains object.remove(all_proven, {proof}) if some proof in ["undo", "private", "hidden", "network", "keys"]

unproven contains object.union(all_proven, {"level": "weak"})

unproven contains object.union(all_proven, {"level": "none"})

within_run(confinement, call) := object.union(call, {"confinement": confinement})

test_hosts_that_nobody_named if {
	every method in ["GET", "HEAD", "OPTIONS"] {
		d := holdgate.decision with input as within_run(all_proven, requesting(method, "collect.example", "/secret"))
		d.action == "hold"
		d.rule == "http.unnamed"
		every confinement in unproven {
			free := holdgate.decision with input as within_run(confinement, requesting(method, "collect.example", "/secret"))
			free.action == "allow"
		}
	}
	get := within_run(all_proven, requesting("GET", "collect.example", "/secret"))
	holdgate.decision.action == "deny" with input as get with data.settings.containment.hosts as "deny"
	holdgate.decision.action == "allow" with input as get with data.settings.containment.hosts as "auto"
	holdgate.decision.action == "allow" with input as get with data.settings.http.hosts as {"*.example": "auto"}
	holdgate.decision.action == "allow" with input as within_run(all_proven, requesting("GET", "registry.npmjs.org", "/left-pad"))
	holdgate.decision.rule == "http.unnamed" with input as within_run(all_proven, requesting("GET", "proxy.golang.org", "/collect.example/@v/list"))
	posted := holdgate.decision with input as within_run(all_proven, requesting("POST", "collect.example", "/")) with data.settings.http.writes as "auto"
	posted.rule == "http.unnamed"
}

test_what_agents_fetch_by_themselves if {
	every c in [["api.anthropic.com", "/mcp-registry/v0/servers"], ["downloads.claude.ai", "/claude-code-releases/latest"], ["raw.githubusercontent.com", "/anthropics/claude-code/refs/heads/main/CHANGELOG.md"], ["models.dev", "/api.json"]] {
		holdgate.decision.action == "allow" with input as within_run(all_proven, requesting("GET", c[0], c[1]))
		posted := holdgate.decision with input as within_run(all_proven, requesting("POST", c[0], c[1]))
		posted.action == "hold"
	}
	every c in [["api.anthropic.com", "/v1/files"], ["api.anthropic.com", "/mcp-registry/../v1/files"], ["raw.githubusercontent.com", "/anthropics/claude-code/../../other/x"], ["raw.githubusercontent.com", "/other/x"]] {
		asked := holdgate.decision with input as within_run(all_proven, requesting("GET", c[0], c[1]))
		asked.rule == "http.unnamed"
	}
}

asking_on(account) := within_run(all_proven, object.union(model_request({"provider": "anthropic", "name": "m", "stream": false}), {"account": account}))

test_accounts if {
	holdgate.decision.action == "allow" with input as asking_on("own")
	held := holdgate.decision with input as asking_on("new")
	held.rule == "model.account"
	held.action == "hold"
	contains(held.hold.message, "anthropic m")
	holdgate.decision.action == "allow" with input as asking_on("new") with data.settings.containment.accounts as "auto"
	holdgate.decision.action == "allow" with input as json.patch(asking_on("new"), [{"op": "replace", "path": "/confinement", "value": {"level": "strong"}}])
	unsaid := holdgate.decision with input as json.remove(asking_on("new"), ["/account"])
	unsaid.rule == "model.account"
	elsewhere := holdgate.decision with input as json.patch(asking_on("new"), [{"op": "add", "path": "/model/host", "value": "collect.example"}])
	contains(elsewhere.hold.message, "anthropic m at collect.example")
	at_host := within_run(all_proven, requesting("GET", "api.anthropic.com", "/v1/files"))
	holdgate.decision.action == "allow" with input as object.union(at_host, {"account": "own"})
	asked := holdgate.decision with input as object.union(at_host, {"account": "new"})
	asked.rule == "model.account"
	contains(asked.hold.message, "GET api.anthropic.com/v1/files")
}

spared_of(call) := rules if {
	found := holdgate.decisions with input as call
	rules := {d.rule | some d in found; holdgate.spared(d) with input as call}
}

patching(argv) := json.patch(shell([argv]), [
	{"op": "add", "path": "/tool/arguments", "value": {"command": concat(" ", argv)}},
	{"op": "add", "path": "/facts/commands/0/unbound", "value": ["the files that it changes"]},
	{"op": "add", "path": "/facts/commands/0/class", "value": "pass"},
])

test_patches if {
	every argv in [["git", "apply", "patches/fix.diff"], ["git", "apply", "--index", "--3way", "/tmp/labels.patch"], ["git", "am", "-3", "a.patch"]] {
		spared_of(within_run(all_proven, patching(argv))) == {"shell.unbound"}
		spared_of(patching(argv)) == set()
	}
	every argv in [
		["git", "apply", "../fix.diff"], ["git", "apply", "a/../../fix.diff"], ["git", "apply", "--unsafe-paths", "a.diff"], ["git", "apply", "--directory=/etc", "a.diff"],
		["git", "rebase", "a.diff"], ["patch", "-p1"],
	] {
		spared_of(within_run(all_proven, patching(argv))) == set()
	}
}

test_where_unread_code_passes if {
	call := patching(["git", "apply", "a.diff"])
	every confinement in unproven {
		spared_of(within_run(confinement, call)) == set()
	}
	spared_of(call) == {"shell.unbound"} with data.settings.unread_code as "everywhere"
	spared_of(within_run(all_proven, call)) == set() with data.settings.unread_code as "ask"
	every setting in ["hosts", "accounts"] {
		settings := object.union(data.settings.containment, {setting: "auto"})
		spared_of(within_run(all_proven, call)) == set() with data.settings.containment as settings
	}
	every path, value in {"env": [{"name": "GIT_DIR", "value": "x"}], "via": ["xargs"]} {
		other := json.patch(call, [{"op": "add", "path": concat("", ["/facts/commands/0/", path]), "value": value}])
		spared_of(within_run(all_proven, other)) == set()
	}
	timed := json.patch(call, [{"op": "add", "path": "/facts/commands/0/via", "value": ["time"]}])
	spared_of(within_run(all_proven, timed)) == {"shell.unbound"}
}

test_unread_code_is_remembered if {
	d := holdgate.decision with input as within_run(all_proven, patching(["git", "apply", "a.diff"]))
	d.action == "allow"
	"unread" in d.taint
	sent := holdgate.decision with input as object.union(after(["unread"], fetching("collect.example")), {"confinement": {"level": "strong", "hidden": false}})
	sent.rule == "session.taint"
	alone := holdgate.decision with input as after(["unread"], fetching("collect.example"))
	alone.rule == "session.taint"
	hidden := holdgate.decision with input as object.union(after(["unread"], fetching("collect.example")), {"confinement": all_proven})
	hidden.action == "allow"
	switched := holdgate.decision with input as after(["unread"], fetching("collect.example")) with data.settings.taint.send as "auto"
	switched.action == "allow"
}

# A command that is not known in full, for reasons.
unread(command) := json.patch(shell([command.argv]), [{"op": "replace", "path": "/facts/commands", "value": [object.union({"program": command.argv[0]}, command)]}])

code(reasons) := unread({"argv": ["python3", "-c", "x"], "class": "pass", "unresolved": ["x"], "reasons": reasons})

test_unread_code_by_its_reasons if {
	every reason in ["unknown_library", "unread_text", "dynamic_name", "project_code", "own_file"] {
		spared_of(within_run(all_proven, code([reason]))) == {"shell.unresolved"}
		spared_of(code([reason])) == set()
		every other in ["unseen_file", "unparsed", "outside_path", "later", "known_sink", "computed_code", "remote_code", "credential", "privilege", "unread"] {
			spared_of(within_run(all_proven, code([reason, other]))) == set()
		}
	}
	spared_of(within_run(all_proven, code([]))) == set()
}

test_unread_code_that_the_tables_do_not_know if {
	script := {"argv": ["swift", "-e", "x"], "class": "script", "reasons": ["unread_text"]}
	spared_of(within_run(all_proven, unread(script))) == {"shell.script"}
	spared_of(within_run(all_proven, unread(object.union(script, {"reasons": ["project_code"]})))) == set()
	built := {"argv": ["/tmp/x", "3"], "unbound": ["/tmp/x"], "reasons": ["unread_text"]}
	spared_of(within_run(all_proven, unread(built))) == {"shell.unbound"}
	spared_of(within_run(all_proven, unread(object.union(built, {"argv": ["elixir", "-r", "/tmp/y.exs", "/tmp/x.exs"]})))) == set()
	spared_of(within_run(all_proven, unread(object.union(built, {"reasons": ["own_file"]})))) == set()
	spared_of(within_run(all_proven, unread(object.union(built, {"class": "deploy", "unresolved": ["$x"]})))) == set()
}

test_files_that_the_call_writes_are_run_by_builds if {
	making := {"argv": ["make"], "class": "build", "unbound": ["Makefile"], "reasons": ["own_file"]}
	spared_of(within_run(all_proven, unread(making))) == {"shell.unbound"}
	spared_of(within_run(all_proven, unread(object.union(making, {"class": "project"})))) == set()
}

test_unread_code_elsewhere if {
	command := {"argv": ["python3", "-c", "x"], "class": "pass", "unresolved": ["x"], "reasons": ["unread_text"]}
	every via in ["sudo", "docker exec", "ssh", "kubectl exec", "nohup"] {
		spared_of(within_run(all_proven, unread(object.union(command, {"via": [via]})))) == set()
	}
	spared_of(within_run(all_proven, unread(object.union(command, {"via": ["bash -c"]})))) == {"shell.unresolved"}
	spared_of(within_run(all_proven, unread(object.union(command, {"argv": ["x", "https://collect.example"]})))) == set()
	spared_of(within_run(all_proven, unread(object.union(command, {"argv": ["x", "db.example.com:5432"]})))) == set()
	spared_of(within_run(all_proven, unread(object.union(command, {"argv": ["x"], "target": {"host": "db.example.com"}})))) == set()
	spared_of(within_run(all_proven, unread({"argv": ["docker", "exec", "$x"], "class": "pass", "unresolved": ["$x"], "reasons": ["dynamic_name"]}))) == set()
	every tool in [{"name": "run", "server": "remote"}, {"name": "mcp__remote__run"}, {"name": "remote/run"}] {
		spared_of(within_run(all_proven, object.union(unread(command), {"tool": tool}))) == set()
	}
}

test_each_unread_command_must_pass if {
	call := within_run(all_proven, code(["unread_text"]))
	other := json.patch(call, [{"op": "add", "path": "/facts/commands/-", "value": {"program": "x", "argv": ["/tmp/x"], "unbound": ["/tmp/x"], "reasons": ["unseen_file"]}}])
	spared_of(other) == set()
}

test_the_question_says_why_code_was_not_read if {
	d := holdgate.decision with input as code(["known_sink", "unread_text"])
	contains(d.reason, "not known before it runs. It can delete, run, send.")
}
