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

asking_on(account) := within_run(all_proven, object.union(model_request({"provider": "anthropic", "name": "m", "stream": false}), {"account": account}))

test_accounts if {
	holdgate.decision.action == "allow" with input as asking_on("own")
	held := holdgate.decision with input as asking_on("new")
	held.rule == "model.account"
	held.action == "hold"
	contains(held.hold.message, "anthropic m")
	holdgate.decision.action == "allow" with input as asking_on("new") with data.settings.containment.accounts as "auto"
	holdgate.decision.action == "allow" with input as json.patch(asking_on("new"), [{"op": "replace", "path": "/confinement", "value": {"level": "strong"}}])
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
