package holdgate_test

import data.holdgate

in_shop(call) := object.union(call, {"session": {"cwd": "/home/dev/shop"}})

deletion(path) := {"access": "delete", "clean": path, "path": path, "inside": startswith(path, "/home/dev/shop/")}

deleting_all(paths) := in_shop(object.union(shell([["rm", "-rf", "x"]]), {"facts": {
	"commands": [
		{"program": "rm", "argv": ["rm", "-rf", "x"], "class": "delete", "deletes": true},
		{"program": "ls", "argv": ["ls"], "class": "pass"},
	],
	"paths": [deletion(path) | some path in paths],
	"impact": {"recursive": true},
}}))

asked_of(call) := rules if {
	found := holdgate.standing with input as call
	rules := {d.rule | some d in found}
}

test_deletions_of_the_run if {
	every path in ["/tmp/x", "/tmp/tmp.XX/a/b", "/tmp/*", "/dev/shm/x", "/home/dev/shop/dist", "/home/dev/shop/web/coverage", "/home/dev/shop/**/__pycache__", "/home/dev/shop/**/*.pyc", "/home/dev/shop/.next"] {
		asked_of(within_run(all_proven, deleting_all([path]))) == set()
		asked_of(deleting_all([path])) == {"files.delete"}
		every confinement in unproven {
			asked_of(within_run(confinement, deleting_all([path]))) == {"files.delete"}
		}
		asked_of(within_run(all_proven, deleting_all([path, "/home/dev/shop/src"]))) == {"files.delete"}
		perhaps := json.patch(within_run(all_proven, deleting_all([path])), [{"op": "add", "path": "/facts/paths/0/perhaps", "value": true}])
		asked_of(perhaps) == {"files.delete"}
	}
	every path in [
		"/tmp", "/tmp/$x", "/tmp/$(cat x)", "/tmp/.?/home/dev/shop/src", "/tmp/.*", "/var/tmp/x", "/home/dev/shop/src",
		"/home/dev/shop/src/dist", "/home/dev/shop/app/coverage", "/home/dev/shop/dist/a.js", "/home/dev/shop/dist/*",
		"/home/dev/shop/**/dist", "/home/dev/shop/node_modules/x/dist", "/home/dev/shop/distant", "/home/dev/other/dist",
		"/home/dev/dist", "/home/dev/shop/.git/refs/heads/dist", "/home/dev/shop/.gi?/dist", "/home/dev/shop/up.git/dist",
		"/home/dev/shop/!(x/dist", "/home/dev/shop/build", "/home/dev/shop/.hg/__pycache__",
	] {
		asked_of(within_run(all_proven, deleting_all([path]))) == {"files.delete"}
	}
}

also(call, words) := json.patch(call, [{"op": "add", "path": "/facts/commands/-", "value": {"program": words[0], "argv": words, "class": "pass"}}])

test_deletions_of_what_the_call_has_put_there if {
	in_tmp := within_run(all_proven, deleting_all(["/tmp/x"]))
	call := within_run(all_proven, deleting_all(["/home/dev/shop/dist"]))
	every written in ["/home/dev/shop/dist/src", "/home/dev/shop/dist", "/home/dev/shop"] {
		into := json.patch(call, [{"op": "add", "path": "/facts/paths/-", "value": {"access": "write", "clean": written, "path": written, "inside": true}}])
		"files.delete" in asked_of(into)
	}
	every words in [["mv", "$x", "$y"], ["mv", "src", "/tmp/x"], ["ln", "-s", "src", "x"], ["cp", "-as", "src", "x"], ["cp", "--link", "src", "x"]] {
		"files.delete" in asked_of(also(call, words))
		"files.delete" in asked_of(also(in_tmp, words))
	}
	every words in [["mv", "-f", "/tmp/a", "/tmp/b"], ["cp", "-r", "src", "x"]] {
		asked_of(also(in_tmp, words)) == set()
	}
	elsewhere := json.patch(call, [{"op": "add", "path": "/facts/commands/0/via", "value": ["parallel"]}])
	asked_of(elsewhere) == {"files.delete"}
}

test_deletions_of_files_that_the_call_has_put_there if {
	call := within_run(all_proven, deleting_all(["/home/dev/shop/src/a.ts"]))
	made := json.patch(call, [{"op": "add", "path": "/facts/paths/0/made", "value": true}])
	asked_of(made) == set()
	outside := json.patch(made, [{"op": "replace", "path": "/facts/paths/0/inside", "value": false}])
	asked_of(outside) == {"files.delete"}
	every class in ["persistence", "secret"] {
		count(asked_of(json.patch(made, [{"op": "add", "path": "/facts/paths/0/class", "value": class}]))) == 1
	}
	of_git := within_run(all_proven, deleting_all(["/home/dev/shop/.git/index"]))
	asked_of(json.patch(of_git, [{"op": "add", "path": "/facts/paths/0/made", "value": true}])) == {"files.delete"}
}

test_deletions_that_are_none_of_the_run if {
	call := within_run(all_proven, deleting_all(["/tmp/x"]))
	every via in ["sudo", "ssh", "docker exec", "nohup"] {
		"files.delete" in asked_of(json.patch(call, [{"op": "add", "path": "/facts/commands/0/via", "value": [via]}]))
	}
	asked_of(json.patch(call, [{"op": "replace", "path": "/facts/commands/0/deletes", "value": false}])) == {"files.delete"}
	every cwd in ["/tmp", "/tmp/x/y", "/private/tmp/x", "/dev/shm/shop", "/", ""] {
		asked_of(json.patch(call, [{"op": "replace", "path": "/session/cwd", "value": cwd}])) == {"files.delete"}
	}
	"files.delete" in asked_of(json.patch(call, [{"op": "replace", "path": "/tool", "value": {"name": "mcp__files__delete"}}]))
	"files.delete" in asked_of(json.patch(call, [{"op": "replace", "path": "/tool", "value": {"name": "delete", "server": "files"}}]))
}

changing(paths) := in_shop(object.union(shell([["cp", "a", "x"]]), {"facts": {
	"commands": [{"program": "cp", "argv": ["cp", "a", "x"], "class": "pass"}],
	"paths": [object.union({"access": "write"}, path) | some path in paths],
}}))

test_changes_that_may_lie_outside if {
	beside := [
		{"path": "../a.md", "clean": "/home/dev/shop/a.md", "inside": true},
		{"path": "../a.md", "clean": "/home/dev/a.md", "inside": false},
	]
	every paths in [beside] {
		asked_of(within_run(all_proven, changing(paths))) == set()
		asked_of(changing(paths)) == {"files.outside"}
		every confinement in unproven {
			asked_of(within_run(confinement, changing(paths))) == {"files.outside"}
		}
		by_another := json.patch(within_run(all_proven, changing(paths)), [{"op": "add", "path": "/facts/commands/0/via", "value": ["sudo"]}])
		"files.outside" in asked_of(by_another)
	}
	every path in ["../a.md", "$HOME/a", "${XDG_CONFIG_HOME}/a", "/home/dev/a.md", "~/a", "$d/a.js"] {
		call := changing([{"path": path, "clean": path, "inside": false}])
		asked_of(within_run(all_proven, call)) == {"files.outside"}
	}
}
