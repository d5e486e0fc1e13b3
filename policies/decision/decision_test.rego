package holdgate_test

import data.holdgate

answering(rule, answer) := object.union(shell([["rm", "x"]]), {"answers": [object.union({"gate": "", "rule": rule, "by": "ada"}, answer)]})

test_an_answered_rule_is_satisfied if {
	decision := holdgate.decision with input as answering("files.delete", {"decision": "approve"})
	decision.action == "allow"
	decision.rule == "files.delete"
	holdgate.decision.action == "allow" with input as answering("files.delete", {"decision": "edit"})
}

test_other_answers_satisfy_nothing if {
	holdgate.decision.action == "hold" with input as answering("secrets", {"decision": "approve"})
	holdgate.decision.action == "hold" with input as answering("files.delete", {"decision": "deny"})
	holdgate.decision.action == "hold" with input as answering("files.delete", {"decision": "timeout"})
	holdgate.decision.action == "hold" with input as answering("files.delete", {"decision": "approve", "gate": "before_commit"})
	holdgate.decision.action == "hold" with input as answering("files.delete", {"decision": "choose", "choice": "a"})
}

custom(decisions) := d if {
	d := holdgate.decision with input as shell([["rm", "x"]]) with data.holdgate.custom.mine.decisions as decisions
}

test_the_strictest_wins if {
	custom({{"action": "deny", "rule": "mine"}}).rule == "mine"
	custom({{"action": "allow", "rule": "mine"}}).rule == "files.delete"
	custom({{"action": "hold", "rule": "mine", "risk": "critical"}}).rule == "mine"
}

test_a_slip_wins_over_everything if {
	custom({{"action": "dney", "rule": "mine"}, {"action": "deny", "rule": "other"}}).rule == "mine"
	custom({"deny"}) == "deny"
}

test_an_option_counts_by_its_effect if {
	question := {{
		"action": "hold", "rule": "mine", "risk": "high",
		"hold": {"kind": "choice", "options": [{"id": "go"}, {"id": "no", "effect": "deny"}]},
	}}
	go := object.union(shell([["ls"]]), {"answers": [{"rule": "mine", "decision": "choose", "choice": "go"}]})
	holdgate.decision.action == "allow" with input as go with data.holdgate.custom.mine.decisions as question
	no := json.patch(go, [{"op": "replace", "path": "/answers/0/choice", "value": "no"}])
	holdgate.decision.action == "hold" with input as no with data.holdgate.custom.mine.decisions as question
}

test_what_only_observes_comes_last if {
	custom({{"action": "deny", "rule": "mine", "observe": true}}).rule == "files.delete"
	decision := holdgate.decision with input as shell([["ls"]])
		with data.holdgate.custom.mine.decisions as {{"action": "deny", "rule": "mine", "observe": true}}
	decision.observe
}

test_nothing_of_the_pack_itself_is_shown if {
	decision := holdgate.decision with input as shell([["rm", "x"]])
	not decision.about
}

test_silence_counts_where_a_rule_lets_it_approve if {
	question := {{"action": "hold", "rule": "mine", "risk": "low", "hold": {"timeout": "10s", "on_timeout": "approve"}}}
	call := object.union(shell([["ls"]]), {"answers": [{"rule": "mine", "decision": "timeout"}]})
	holdgate.decision.action == "allow" with input as call with data.holdgate.custom.mine.decisions as question
}

test_what_a_rule_redacts_is_redacted_whatever_decides if {
	decision := custom({{"action": "allow", "rule": "mine", "redact": ["/tool/arguments/x"]}})
	decision.rule == "files.delete"
	decision.redact == ["/tool/arguments/x"]
}
