package holdgate_test

import data.holdgate

at_gate(gate) := object.union(base, {"kind": "gate", "gate": gate})

rules := {d.rule | some d in holdgate.decisions}

in_session(call, session) := object.union(call, {"session": session})

test_a_gate_is_asked_about if {
	decision := holdgate.decision with input as at_gate({"type": "my_check"})
	decision.rule == "gate"
	decision.hold.gate == "my_check"
	decision.hold.allow == ["steer"]
	decision.risk == "low"
}

test_the_configuration_says_how_a_gate_is_asked_about if {
	settings := {"level": "mandatory", "message": "Commit this?", "required": true, "timeout": 300, "show": ["diff"], "edits": false, "on_timeout": "deny"}
	hold := holdgate.decision.hold with input as at_gate({"type": "before_commit", "timeout": 5, "settings": settings})
	hold.message == "Commit this?"
	hold.required
	hold.timeout == 300
	hold.show == ["diff"]
	hold.allow == []
	holdgate.decision.risk == "medium" with input as at_gate({"type": "before_commit", "settings": settings})
}

test_an_agent_may_say_how_long_it_waits if {
	hold := holdgate.decision.hold with input as at_gate({"type": "my_check", "timeout": 5})
	hold.timeout == 5
}

test_a_choice if {
	offered := [{"id": "a", "label": "A"}]
	hold := holdgate.decision.hold with input as at_gate({"type": "my_check", "options": offered})
	hold.kind == "choice"
	hold.options == offered
	own := [{"id": "expand", "label": "Expand"}]
	ours := holdgate.decision.hold with input as at_gate({"type": "constraint_exception", "options": offered, "settings": {"options": own}})
	ours.options == own
}

test_an_advisory_gate_is_told_and_holds_nothing if {
	decision := holdgate.decision with input as at_gate({"type": "my_check", "settings": {"level": "advisory"}})
	decision.action == "hold"
	decision.observe
	choice := holdgate.decision with input as at_gate({"type": "my_check", "settings": {"level": "advisory", "options": [{"id": "a", "label": "A"}]}})
	choice.action == "hold"
	not choice.observe
}

test_traffic_at_an_advisory_gate_goes_on if {
	call := in_session(shell([["git", "commit", "-m", "x"]]), {"mode": "auto", "gates_told": ["before_commit"]})
	decision := holdgate.decision with input as call
	decision.rule == "session.advice"
	decision.observe
	passed := object.union(call, {"session": {"gates_passed": ["before_commit"]}})
	holdgate.decision.action == "allow" with input as passed
}

test_a_gate_that_is_off_passes if {
	holdgate.decision.action == "allow" with input as at_gate({"type": "before_verify", "settings": {"enabled": false}})
}

reported(score) := object.union(
	at_gate({"type": "confidence_threshold", "settings": {"level": "conditional", "threshold": 0.9}}),
	{"confidence": {"score": score, "source": "agent", "reasons": ["two tests fail"]}},
)

test_a_report_is_asked_about_below_the_line if {
	holdgate.decision.action == "allow" with input as reported(0.9)
	holdgate.decision.hold.gate == "confidence_threshold" with input as reported(0.89)
	holdgate.decision.hold.gate == "diagnostics" with input as reported(0.19)
	not contains(holdgate.decision.hold.message, "two tests fail") with input as reported(0.19)
}

test_a_report_is_asked_about_no_more_than_its_gate if {
	off := {"gate": {"settings": {"enabled": false}}}
	holdgate.decision.action == "allow" with input as object.union(reported(0.1), off)
}

test_a_conditional_gate_is_asked_about_where_the_agent_is_not_sure if {
	conditional := at_gate({"type": "before_review", "settings": {"level": "conditional"}})
	holdgate.decision.action == "hold" with input as conditional
	holdgate.decision.action == "hold" with input as object.union(conditional, {"confidence": {"score": 0.7, "source": "agent"}})
	holdgate.decision.action == "allow" with input as object.union(conditional, {"confidence": {"score": 0.8, "source": "agent"}})
}

test_the_work_counts_where_it_is_worse_than_the_word if {
	work := {"retries": {"count": 3, "max": 3}}
	holdgate.decision.hold.gate == "diagnostics" with input as object.union(reported(1), {"confidence": {"work": work}})
	holdgate.decision.action == "allow" with input as object.union(reported(1), {"confidence": {"work": {"retries": {"count": 0, "max": 3}}}})
}

test_work_of_which_nothing_is_known_leaves_the_word if {
	every work in [{}, {"verification": {}, "retries": {}}, {"retries": {"count": 0, "max": 0}}] {
		holdgate.decision.action == "allow" with input as object.union(reported(1), {"confidence": {"work": work}})
		holdgate.decision.hold.gate == "confidence_threshold" with input as object.union(reported(0.4), {"confidence": {"work": work}})
	}
}

test_what_an_agent_shows_at_a_gate_is_redacted_where_it_holds_a_secret if {
	call := object.union(at_gate({"type": "my_check"}), {"facts": {"secrets": [{"kind": "aws_key", "pointer": "/context"}]}})
	holdgate.decision.redact == ["/gate/context"] with input as call
}

test_a_session_changes_nothing_before_its_gate if {
	needs := {"gates_needed": ["intent_approval"]}
	decision := holdgate.decision with input as in_session(touching({"clean": "src/a.go", "inside": true}), needs)
	decision.rule == "session.gate"
	decision.hold.gate == "intent_approval"
	decision.hold.passes
	"session.gate" in rules with input as in_session(shell([["rm", "x"]]), needs)
	holdgate.decision.action == "allow" with input as in_session(shell([["ls"]]), needs)
	"session.gate" in rules with input as in_session(tool_call({"name": "Do", "category": "exec"}, {}), needs)
	holdgate.decision.action == "allow" with input as in_session(tool_call({"name": "Read", "category": "read"}, {}), needs)
}

test_commands_are_at_gates if {
	on := {"gates_on": ["before_commit", "before_verify"]}
	holdgate.decision.rule == "session.checkpoint" with input as in_session(shell([["git", "commit", "-m", "x"]]), on)
	holdgate.decision.rule == "session.checkpoint" with input as in_session(shell([["git", "-C", "sub", "commit"]]), on)
	holdgate.decision.rule == "session.checkpoint" with input as in_session(shell([["go", "test", "./..."]]), on)
	holdgate.decision.action == "allow" with input as in_session(shell([["git", "status"]]), on)
	holdgate.decision.action == "allow" with input as in_session(shell([["git", "commit"]]), object.union(on, {"gates_passed": ["before_commit"]}))
}

test_the_first_change_is_before_implement if {
	on := {"gates_on": ["before_implement"]}
	holdgate.decision.rule == "session.checkpoint" with input as in_session(touching({"clean": "a.go", "inside": true}), on)
	holdgate.decision.action == "allow" with input as in_session(shell([["ls"]]), on)
}

test_repeats_are_asked_about_where_the_settings_say_so if {
	again := in_session(shell([["ls"]]), {"repeats": 4})
	holdgate.decision.action == "allow" with input as again
	holdgate.decision.rule == "session.repeats" with input as again with data.settings.repeats as 3
	holdgate.decision.action == "allow" with input as again with data.settings.repeats as 4
}

test_a_command_that_writes_changes_something if {
	call := tool_call({"name": "Bash", "category": "exec"}, {
		"commands": [{"program": "cp", "argv": ["cp", "a", "b"], "class": "pass", "seen": "whole"}],
		"paths": [{"path": "b", "clean": "b", "access": "write", "inside": true}],
	})
	holdgate.decision.rule == "session.gate" with input as in_session(call, {"gates_needed": ["intent_approval"]})
}

set_gate := {
	"level": "mandatory", "message": "Commit to main?", "required": true, "on_timeout": "deny",
	"show": ["diff"], "timeout": 60, "edits": false,
}

test_traffic_at_a_gate_is_asked_about_as_the_configuration_says if {
	session := {"session": {"mode": "auto", "gates_on": ["before_commit"], "gates_settings": {"before_commit": set_gate}}}
	decision := holdgate.decision with input as object.union(shell([["git", "commit"]]), session)
	decision.rule == "session.checkpoint"
	object.subset(decision.hold, {"message": "Commit to main?", "required": true, "show": ["diff"], "timeout": 60, "allow": [], "passes": true})
}

test_a_choice_at_a_gate_that_traffic_reaches if {
	options := [{"id": "main", "label": "To main"}, {"id": "no", "label": "No", "effect": "deny"}]
	session := {"session": {"mode": "auto", "gates_on": ["before_commit"], "gates_settings": {"before_commit": {"options": options}}}}
	call := object.union(shell([["git", "commit"]]), session)
	decision := holdgate.decision with input as call
	decision.hold.kind == "choice"
	decision.hold.options == options
	answer := {"rule": "session.checkpoint", "gate": "before_commit", "decision": "choose", "choice": "main"}
	holdgate.decision.action == "allow" with input as object.union(call, {"answers": [answer]})
	holdgate.decision.action == "hold" with input as object.union(call, {"answers": [object.union(answer, {"choice": "no"})]})
}

test_changes_that_need_a_gate_are_asked_about_as_it if {
	needs := {"gates_needed": ["intent_approval"], "gates_settings": {"intent_approval": {"message": "Begin?", "required": true}}}
	decision := holdgate.decision with input as in_session(touching({"clean": "src/a.go", "inside": true}), needs)
	decision.rule == "session.gate"
	decision.hold.message == "Begin?"
	decision.hold.required == true
}
