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
	every path in ["/tmp/x", "/tmp/tmp.XX/a/b", "/dev/shm/x", "/home/dev/shop/dist", "/home/dev/shop/web/coverage", "/home/dev/shop/**/__pycache__", "/home/dev/shop/**/*.pyc", "/home/dev/shop/node_modules/.vite"] {
		asked_of(within_run(all_proven, deleting_all([path]))) == set()
		asked_of(deleting_all([path])) == {"files.delete"}
		every confinement in unproven {
			asked_of(within_run(confinement, deleting_all([path]))) == {"files.delete"}
		}
		asked_of(within_run(all_proven, deleting_all([path, "/home/dev/shop/src"]))) == {"files.delete"}
	}
	every path in ["/tmp", "/tmp/$x", "/tmp/$(cat x)", "/home/dev/shop/src", "/home/dev/other/dist", "/home/dev/shop/.git/refs/heads/build", "/home/dev/shop/distant", "/var/tmp/x", "/home/dev/dist"] {
		asked_of(within_run(all_proven, deleting_all([path]))) == {"files.delete"}
	}
}

test_deletions_of_files_that_the_call_has_put_there if {
	call := within_run(all_proven, deleting_all(["/home/dev/shop/src/a.ts"]))
	made := json.patch(call, [{"op": "add", "path": "/facts/paths/0/made", "value": true}])
	asked_of(made) == set()
	outside := json.patch(made, [{"op": "replace", "path": "/facts/paths/0/inside", "value": false}])
	asked_of(outside) == {"files.delete"}
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
	unknown := [{"path": "$d/a.js", "clean": "$d/a.js", "inside": false}]
	every paths in [beside, unknown] {
		asked_of(within_run(all_proven, changing(paths))) == set()
		asked_of(changing(paths)) == {"files.outside"}
		every confinement in unproven {
			asked_of(within_run(confinement, changing(paths))) == {"files.outside"}
		}
		by_another := json.patch(within_run(all_proven, changing(paths)), [{"op": "add", "path": "/facts/commands/0/via", "value": ["sudo"]}])
		"files.outside" in asked_of(by_another)
	}
	every path in ["../a.md", "$HOME/a", "${XDG_CONFIG_HOME}/a", "/home/dev/a.md", "~/a", "$d/../a"] {
		call := changing([{"path": path, "clean": path, "inside": false}])
		asked_of(within_run(all_proven, call)) == {"files.outside"}
	}
}
