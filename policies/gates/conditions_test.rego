package holdgate_test

import data.holdgate

on_commit(call, when) := in_session(call, {"mode": "auto", "gates_on": ["before_commit"], "gates_when": {"before_commit": when}})

commit(words) := shell([array.concat(["git", "commit"], words)])

writing(path) := object.union(base, {
	"kind": "tool_call",
	"tool": {"name": "Edit", "category": "write"},
	"facts": {"category": "write", "paths": [{"path": path, "clean": path, "access": "write", "inside": true}]},
})

before_change(call, when) := in_session(call, {"mode": "auto", "gates_needed": ["intent_approval"], "gates_when": {"intent_approval": when}})

gated if {
	some rank in holdgate.enforced
	rank[2].rule in {"session.checkpoint", "session.gate", "gate"}
}

test_a_gate_for_paths if {
	gated with input as before_change(writing("/w/src/auth/login.go"), {"paths": ["src/auth/**"]})
	gated with input as before_change(writing("src/auth/login.go"), {"paths": ["src/auth/**"]})
	gated with input as before_change(writing("/w/a.sql"), {"paths": ["*.md", "*.sql"]})
	gated with input as before_change(writing("/etc/x"), {"paths": ["/etc/*"]})
	not gated with input as before_change(writing("/w/src/other.go"), {"paths": ["src/auth/**"]})
	not gated with input as before_change(writing("/w/etc/x"), {"paths": ["/etc/*"]})
	not gated with input as before_change(writing("/etc/ssl/x"), {"paths": ["/etc/*"]})
}

test_a_gate_for_paths_is_for_calls_that_do_not_say_what_they_touch if {
	when := {"paths": ["src/auth/**"]}
	gated with input as on_commit(commit(["-m", "x"]), when)
	gated with input as before_change(object.union(writing("/w/a"), {"facts": {"parse_errors": ["cut"]}}), when)
	gated with input as before_change(object.union(writing("/w/a"), {"facts": {"impact": {"recursive": true}}}), when)
	gated with input as before_change(object.union(writing("/w/a"), {"facts": {"impact": {"more": true}}}), when)
	gated with input as before_change(json.remove(writing("/w/a"), ["/facts/paths"]), when)
	running := object.union(writing("/w/a"), {"tool": {"name": "Bash", "category": "exec"}, "facts": {"commands": [{"program": "cp", "argv": ["cp", "$X", "/w/a"], "unresolved": ["$X"]}]}})
	gated with input as before_change(running, when)
	files := object.union(running, {"facts": {"commands": [{"program": "cp", "argv": ["cp", "b", "/w/a"], "seen": "but_files"}]}})
	gated with input as before_change(files, when)
	whole := object.union(running, {"facts": {"commands": [{"program": "cp", "argv": ["cp", "b", "/w/a"], "seen": "whole"}]}})
	not gated with input as before_change(whole, when)
}

test_a_gate_for_tools_and_categories if {
	gated with input as on_commit(commit([]), {"tools": ["Ba*"]})
	not gated with input as on_commit(commit([]), {"tools": ["Edit", "mcp__*"]})
	gated with input as on_commit(commit([]), {"categories": ["write", "exec"]})
	not gated with input as on_commit(commit([]), {"categories": ["write"]})
	call := object.union(writing("/w/a"), {"tool": {"name": "put", "server": "files"}})
	gated with input as before_change(call, {"tools": ["files/*"]})
	not gated with input as before_change(call, {"tools": ["notes/*"]})
}

test_a_gate_for_agents_that_are_not_sure if {
	sure := object.union(commit([]), {"confidence": {"score": 0.9}})
	not gated with input as on_commit(sure, {"confidence_below": 0.9})
	gated with input as on_commit(sure, {"confidence_below": 0.91})
	gated with input as on_commit(commit([]), {"confidence_below": 0.1})
}

test_a_gate_for_sessions_that_are_tainted if {
	when := {"taint": ["untrusted", "secrets"]}
	not gated with input as on_commit(commit([]), when)
	gated with input as object.union(on_commit(commit([]), when), {"session": {"taint": ["untrusted"]}})
	not gated with input as object.union(on_commit(commit([]), when), {"session": {"taint": ["private"]}})
}

test_a_gate_for_risk if {
	call := object.union(writing("/w/a"), {"facts": {"paths": [{"path": "/x/a", "clean": "/x/a", "access": "write", "inside": false}]}})
	rules_of_it := rules with input as before_change(call, {"risk": "medium"})
	"files.outside" in rules_of_it
	gated with input as before_change(call, {"risk": "medium"})
	not gated with input as before_change(call, {"risk": "high"})
	holdgate.decision.rule == "files.outside" with input as before_change(call, {"risk": "high"})
	not gated with input as before_change(writing("/w/a"), {"risk": "low"})
}

test_how_a_condition_is_met_is_the_packs_own_business if {
	again := object.union(on_commit(commit([]), {"risk": "low"}), {"session": {"repeats": 3}})
	decision := holdgate.decision with input as again with data.settings.repeats as 2
	decision.rule == "session.checkpoint"
	not decision.least_risk
	hiding := holdgate.decision with input as again with data.settings.repeats as 2 with data.holdgate.custom.mine.decisions as redacting
	count(hiding.redact) == 1
	not hiding.least_risk
}

test_all_parts_of_a_condition_must_be_met if {
	gated with input as before_change(writing("/w/a.go"), {"paths": ["*.go"], "tools": ["Edit"]})
	not gated with input as before_change(writing("/w/a.go"), {"paths": ["*.go"], "tools": ["Write"]})
	not gated with input as before_change(writing("/w/a.go"), {"paths": ["*.sql"], "tools": ["Edit"]})
}

test_another_gates_condition_is_its_own if {
	call := in_session(commit([]), {"mode": "auto", "gates_on": ["before_commit"], "gates_when": {"before_verify": {"tools": ["Edit"]}}})
	gated with input as call
}

asking(gate, when) := object.union(at_gate(gate), {"session": {"mode": "auto", "gates_when": {"design_review": when}}})

test_a_condition_where_the_agent_itself_asks if {
	gate := {"type": "design_review", "artifacts": ["docs/auth.md"]}
	gated with input as asking(gate, {"paths": ["docs/*"]})
	not gated with input as asking(gate, {"paths": ["src/**"]})
	gated with input as asking({"type": "design_review"}, {"paths": ["src/**"]})
	gated with input as asking(gate, {"tools": ["Edit"], "categories": ["write"], "risk": "critical"})
	not gated with input as asking(gate, {"taint": ["untrusted"]})
}

test_an_advisory_gate_may_have_a_condition if {
	told := {"mode": "auto", "gates_told": ["before_commit"], "gates_when": {"before_commit": {"taint": ["untrusted"]}}}
	holdgate.decision.rule == "default" with input as in_session(commit([]), told)
	holdgate.decision.rule == "session.advice" with input as in_session(commit([]), object.union(told, {"taint": ["untrusted"]}))
}

test_a_gate_for_tools_whose_names_have_dots if {
	call := object.union(writing("/w/a"), {"tool": {"name": "fs.put", "server": "mcp.example.com"}})
	gated with input as before_change(call, {"tools": ["*"]})
	gated with input as before_change(call, {"tools": ["*/fs*"]})
	gated with input as before_change(call, {"tools": ["mcp.*"]})
	not gated with input as before_change(call, {"tools": ["notes.*"]})
}

test_a_gate_for_categories_is_for_tools_that_nobody_knows if {
	gated with input as before_change(json.remove(writing("/w/a"), ["/tool/category"]), {"categories": ["delete"]})
	gated with input as before_change(object.union(writing("/w/a"), {"tool": {"category": "unknown"}}), {"categories": ["delete"]})
	not gated with input as before_change(writing("/w/a"), {"categories": ["delete"]})
}

test_a_gate_for_categories_is_for_what_commands_do if {
	removing := object.union(shell([["rm", "a"]]), {"facts": {"paths": [{"path": "a", "clean": "/w/a", "access": "delete", "inside": true}]}})
	gated with input as before_change(removing, {"categories": ["delete"]})
	not gated with input as before_change(removing, {"categories": ["write"]})
}

test_a_gate_for_paths_is_for_commands_that_touch_more_than_the_line_names if {
	when := {"paths": ["src/**"]}
	line := object.union(commit(["-m", "x"]), {"facts": {
		"commands": [{"program": "git", "argv": ["git", "commit", "-m", "x"], "seen": "whole"}],
		"paths": [{"path": "docs/log", "clean": "/w/docs/log", "access": "write", "inside": true}],
	}})
	gated with input as on_commit(line, when)
}

test_a_gate_for_paths_is_for_the_folders_that_hold_them if {
	gated with input as before_change(writing("/w/src"), {"paths": ["src/**"]})
	gated with input as before_change(writing("/w/src"), {"paths": ["src/auth/*.go"]})
	gated with input as before_change(writing("/etc"), {"paths": ["/etc/*"]})
	gated with input as before_change(writing("/w/SRC/a.go"), {"paths": ["src/**"]})
	gated with input as before_change(writing("/w/src/a.go"), {"paths": ["Src/**"]})
	not gated with input as before_change(writing("/w/docs"), {"paths": ["src/**"]})
	not gated with input as before_change(writing("/w/docs"), {"paths": ["**/src/*", "*/src"]})
	not gated with input as before_change(writing("/w"), {"paths": ["src/**"]})
}

test_a_gate_for_paths_is_for_what_moves_a_folder_that_may_hold_them if {
	at := {"paths": [{"path": "lib", "clean": "/w/lib", "access": "write", "inside": true}]}
	every argv in [["mv", "lib", "old"], ["git", "-C", "/w", "mv", "lib", "old"]] {
		call := object.union(shell([argv]), {"facts": object.union(at, {"commands": [{"program": argv[0], "argv": argv, "seen": "whole"}]})})
		every pattern in ["src/**", "lib/src/**", "**/src/*.go", "/w/lib/src/**"] {
			gated with input as before_change(call, {"paths": [pattern]})
		}
		not gated with input as before_change(call, {"paths": ["/w/other/src/**"]})
	}
	every tool in ["move_file", "mcp__files__rename"] {
		call := object.union(writing("/w/lib"), {"tool": {"name": tool}})
		gated with input as before_change(call, {"paths": ["src/**"]})
		not gated with input as before_change(call, {"paths": ["/etc/*"]})
	}
	removed := object.union(touching({"clean": "/w/lib", "access": "delete", "inside": true}), {"tool": {"name": "delete", "category": "delete"}})
	gated with input as before_change(removed, {"paths": ["src/**"]})
	not gated with input as before_change(removed, {"paths": ["/etc/*"]})
}
