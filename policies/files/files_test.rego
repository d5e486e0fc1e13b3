package holdgate_test

import data.holdgate

test_the_gravest_thing_about_a_path_counts if {
	expected := {
		"secrets": {"clean": "/home/u/.ssh/id_rsa", "class": "secret", "access": "read"},
		"persistence": {"clean": "/home/u/.bashrc", "class": "persistence", "access": "write"},
		"files.system": {"clean": "/etc/hosts", "class": "system", "access": "write"},
		"production.config": {"clean": "deploy/production.yaml", "access": "write"},
		"files.delete": {"clean": "notes.txt", "access": "delete"},
		"files.outside": {"clean": "/opt/x", "access": "write"},
		"self_approval": {"clean": "/home/u/.holdgate/approver.token", "access": "read"},
	}
	every rule, path in expected {
		holdgate.decision.rule == rule with input as touching(path)
	}
}

test_harmless_paths_pass if {
	every path in [
		{"clean": "/etc/hosts", "class": "system", "access": "read"},
		{"clean": "/home/u/.bashrc", "class": "persistence", "access": "read"},
		{"clean": "src/main.go", "access": "write", "inside": true},
		{"clean": "/src/app/main.go", "access": "write", "inside": true},
		{"clean": "/dev/null", "class": "system", "access": "write"},
		{"clean": "/tmp/x/y", "access": "write"},
		{"clean": "docs/product.md", "access": "write", "inside": true},
	] {
		holdgate.decision.action == "allow" with input as touching(path)
	}
}

test_deleting_in_tmp_asks if {
	holdgate.decision.rule == "files.delete" with input as touching({"clean": "/tmp/x", "access": "delete"})
}

test_paths_that_leave_an_unknown_folder_ask if {
	every clean in ["..", "../x", "~/x", "/x", `C:\x`] {
		holdgate.decision.rule == "files.outside" with input as touching({"clean": clean})
	}
}

test_what_is_not_inside_asks_wherever_it_is if {
	call := object.union(touching({"clean": "x"}), {"session": {"cwd": "/src"}})
	holdgate.decision.rule == "files.outside" with input as call
}

test_deleting_folders_is_graver if {
	path := {"clean": "build", "access": "delete"}
	call := object.union(touching(path), {"facts": {"impact": {"recursive": true}}})
	holdgate.decision.risk == "high" with input as call
	holdgate.decision.risk == "medium" with input as touching(path)
}

test_one_grave_path_is_enough if {
	call := tool_call({"name": "x", "category": "write"}, {
		"paths": [
			{"clean": "README.md", "access": "read", "inside": true},
			{"clean": "a.txt", "access": "write", "inside": true},
			{"clean": "notes.txt", "access": "delete", "inside": true},
		],
		"impact": {},
	})
	holdgate.decision.rule == "files.delete" with input as call
}

test_a_command_that_deletes_known_files_is_asked_about_once if {
	call := json.patch(shell([["rm", "x"]]), [{"op": "add", "path": "/facts/paths", "value": [{"clean": "x", "access": "delete", "inside": true}]}, {"op": "add", "path": "/facts/commands/0/deletes", "value": true}])
	decision := holdgate.decision with input as call
	decision.rule == "files.delete"
	not decision.also
}

# A path that one command deletes says nothing of what another one does.
test_each_command_that_deletes_is_asked_about_where_nothing_tells_what if {
	call := json.patch(shell([["rm", "/tmp/a.log"], ["npm", "run", "wipe"]]), [{"op": "add", "path": "/facts/paths", "value": [{"clean": "/tmp/a.log", "access": "delete", "fresh": true}]}, {"op": "add", "path": "/facts/commands/0/deletes", "value": true}])
	decision := holdgate.decision with input as call
	decision.rule == "files.delete"
}

test_the_state_folder_is_refused_but_for_the_public_certificate if {
	every name in ["", "/", "/db/000001.sst", "/secret.key", "/ca.key", "/cache", "/ca"] {
		clean := concat("", ["/home/u/.local/state/holdgate", name])
		holdgate.decision.rule == "self_approval" with input as touching({"clean": clean, "access": "read"})
	}
	holdgate.decision.action == "allow" with input as touching({"clean": "/home/u/.local/state/holdgate/ca.pem", "access": "read"})
	holdgate.decision.rule == "files.outside" with input as touching({"clean": "/home/u/.local/state/holdgate/ca.pem", "access": "write"})
}

test_what_is_holdgates_own_is_refused_wherever_it_lies if {
	every access in ["read", "write", "delete"] {
		holdgate.decision.rule == "self_approval" with input as touching({"clean": "/srv/x/db", "access": access, "inside": true, "self": true})
	}
}

test_what_the_call_has_made_for_itself_may_be_deleted if {
	made := {"clean": "/tmp/tmp.XXXXXXXXXX", "access": "delete"}
	holdgate.decision.action == "allow" with input as touching(object.union(made, {"fresh": true}))
	holdgate.decision.rule == "files.delete" with input as touching(made)
}
