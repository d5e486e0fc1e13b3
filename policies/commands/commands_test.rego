package holdgate_test

import data.holdgate

test_harmless_commands_pass if {
	every argv in [
		["ls", "-la"],
		["grep", "-r", "x", "."],
		["git", "status"],
		["git", "--no-pager", "diff"],
		["git", "-C", "sub", "log"],
		["go", "test", "./..."],
		["go", "mod", "tidy"],
		["python3", "-m", "pytest"],
		["npm", "run", "build"],
	] {
		holdgate.decision.action == "allow" with input as shell([argv])
	}
}

test_classes_ask_under_their_rule if {
	expected := {
		"files.delete": ["rm", "x"],
		"shell.disk": ["mkfs.ext4", "/dev/sda"],
		"shell.system": ["chmod", "777", "x"],
		"shell.privilege": ["su", "root"],
		"shell.script": ["osascript", "-e", "1"],
		"shell.unknown": ["frobnicate"],
		"persistence": ["crontab", "-e"],
		"secrets": ["printenv"],
		"sql.unseen": ["psql", "-f", "x.sql"],
		"packages.install": ["pip", "install", "x"],
		"publish": ["cargo", "publish"],
		"network.command": ["curl", "https://example.com"],
		"network.tunnel": ["ngrok", "http", "3000"],
		"production.deploy": ["terraform", "apply"],
		"git.push": ["git", "push"],
		"git.force_push": ["git", "push", "--force-with-lease=main"],
		"git.discard": ["git", "clean", "-fdx"],
	}
	every rule, argv in expected {
		decision := holdgate.decision with input as shell([argv])
		decision.action == "hold"
		decision.rule == rule
	}
}

test_unknown_subcommands_ask if {
	every argv in [["git", "frobnicate"], ["git"], ["git", "--exec-path=x", "status"], ["go", "mod"], ["npm"]] {
		holdgate.decision.rule == "shell.unknown" with input as shell([argv])
	}
}

test_a_word_changes_the_class if {
	holdgate.decision.rule == "files.delete" with input as shell([["find", ".", "-delete"]])
	holdgate.decision.rule == "shell.script" with input as shell([["go", "test", "-exec=sh", "./..."]])
	holdgate.decision.rule == "git.discard" with input as shell([["git", "branch", "-D", "x"]])
}

test_words_are_not_looked_up_as_parts_of_the_table if {
	every argv in [["find", "0", "-delete"], ["find", "1", "-delete"], ["find", ".", "-delete"], ["git", "push", "0", "-f"]] {
		holdgate.decision.action == "hold" with input as shell([argv])
	}
	holdgate.decision.rule == "shell.unknown" with input as shell([["git status"]])
}

test_a_plus_is_a_forced_push if {
	holdgate.decision.rule == "git.force_push" with input as shell([["git", "push", "origin", "+main"]])
	holdgate.decision.rule == "git.force_push" with input as shell([["git", "push", "origin", ":main"]])
}

test_one_grave_command_is_enough if {
	holdgate.decision.rule == "files.delete" with input as shell([["ls"], ["rm", "x"], ["pwd"]])
}

test_deciding_for_itself_is_refused if {
	holdgate.decision.action == "deny" with input as shell([["holdgate", "approve"]])
}

test_unresolved_words_ask if {
	call := json.patch(shell([["cat", "$X"]]), [{"op": "add", "path": "/facts/commands/0/unresolved", "value": ["$X"]}])
	holdgate.decision.rule == "shell.unresolved" with input as call
	holdgate.decision.risk == "medium" with input as call
}

test_unresolved_words_are_of_high_risk_as_another_user if {
	call := json.patch(shell([["bash"]]), [
		{"op": "add", "path": "/facts/commands/0/unresolved", "value": ["stdin"]},
		{"op": "add", "path": "/facts/commands/0/via", "value": ["pipe", "sudo"]},
	])
	holdgate.decision.rule == "shell.unresolved" with input as call
	holdgate.decision.risk == "high" with input as call
}

running(argv, project) := json.patch(shell([argv]), [
	{"op": "add", "path": "/facts/commands/0/unbound", "value": ["x"]},
	{"op": "add", "path": "/facts/commands/0/project", "value": project},
])

test_files_ask_where_they_are_not_the_projects if {
	every argv in [["python", "x"], ["make", "test"], ["ls"], ["./x"]] {
		holdgate.decision.rule == "shell.unbound" with input as running(argv, [])
	}
	every argv in [["python", "x"], ["make", "test"], ["ls"]] {
		holdgate.decision.action == "allow" with input as running(argv, ["x"])
	}
}

test_programs_of_the_project_are_asked_about_with_a_host_elsewhere if {
	holdgate.decision.rule == "network.command" with input as running(["python", "x", "--pool=192.0.2.70:3333"], ["x"])
	holdgate.decision.rule == "network.command" with input as running(["python", "x", "pool.example.com:3333"], ["x"])
	holdgate.decision.action == "allow" with input as running(["python", "x", "localhost:3000", "a:1", "12:30"], ["x"])
}

test_scripts_of_the_project_ask_where_the_settings_say_so if {
	every argv in [["python", "x"], ["ls"]] {
		holdgate.decision.rule == "shell.unbound" with input as running(argv, ["x"]) with data.settings.project_scripts as "ask"
	}
	holdgate.decision.rule == "shell.unbound" with input as running(["composer", "audit"], ["x"]) with data.settings.project_scripts as "ask"
	holdgate.decision.action == "allow" with input as running(["make", "test"], ["x"]) with data.settings.project_scripts as "ask"
}

test_sudo_asks if {
	call := json.patch(shell([["ls"]]), [{"op": "add", "path": "/facts/commands/0/via", "value": ["sudo"]}])
	holdgate.decision.rule == "shell.privilege" with input as call
}

test_a_disk_is_critical_as_whomever_and_with_whatever_words if {
	call := json.patch(shell([["mkfs.ext4", "$D"]]), [
		{"op": "add", "path": "/facts/commands/0/via", "value": ["sudo"]},
		{"op": "add", "path": "/facts/commands/0/unresolved", "value": ["$D"]},
	])
	decision := holdgate.decision with input as call
	decision.rule == "shell.disk"
	decision.risk == "critical"
}

test_a_class_that_is_not_known_asks if {
	holdgate.decision.rule == "shell.unknown" with input as shell([["frobnicate"]])
		with data.settings.commands.frobnicate as "fine"
}

test_the_message_says_what_would_run if {
	decision := holdgate.decision with input as shell([["rm", "a", "b"]])
	contains(decision.hold.message, "rm a b")
}

# A command as the engine gives it, with its class.
classed(class, seen, more) := tool_call(
	{"name": "Bash", "category": "exec", "setting": "balanced"},
	{"category": "exec", "commands": [object.union({"program": "x", "argv": ["x"], "class": class, "seen": seen}, more)], "impact": {}},
)

test_what_is_plain_passes_by_its_class if {
	every c in [["pass", "whole"], ["build", "whole"], ["build", "but_project"]] {
		holdgate.decision.action == "allow" with input as classed(c[0], c[1], {})
		not holdgate.more_than_plain with input as classed(c[0], c[1], {})
	}
}

test_a_script_from_elsewhere_asks if {
	holdgate.decision.rule == "shell.unbound" with input as classed("project", "but_files", {"unbound": ["x"]})
	holdgate.decision.action == "allow" with input as classed("project", "but_project", {"unbound": ["x"], "project": ["x"]})
}

test_what_is_not_plain_is_looked_at if {
	every c in [["pass", "but_files", {}], ["delete", "whole", {}], ["pass", "whole", {"env": [{"name": "X", "value": "1", "unresolved": false}]}]] {
		holdgate.more_than_plain with input as classed(c[0], c[1], c[2])
	}
	holdgate.decision.rule == "shell.disk" with input as classed("disk", "whole", {})
	holdgate.more_than_plain with input as shell([["ls"]])
}

test_naming_what_decides_is_refused_whatever_the_program if {
	decision := holdgate.decision with input as shell([["curl", "--unix-socket", "/run/holdgate.sock", "http://x/"]])
	decision.rule == "self_approval"
	decision.action == "deny"
}
