package holdgate_test

import data.holdgate

mine := {"action": "hold", "rule": "mine"}

test_packages_of_the_user_are_asked if {
	call := shell([["ls"]])
	holdgate.decision.rule == "mine" with input as call with data.holdgate.custom.a.decisions as {mine}
	holdgate.decision.rule == "mine" with input as call with data.holdgate.custom.a.decision as mine
	holdgate.decision.rule == "mine" with input as call with data.holdgate.custom.decisions as {mine}
	holdgate.decision.rule == "mine" with input as call with data.holdgate.custom.decision as mine
}

test_all_of_them_are_asked if {
	decision := holdgate.decision with input as shell([["ls"]])
		with data.holdgate.custom.a.decision as mine
		with data.holdgate.custom.b.decisions as {{"action": "deny", "rule": "other"}}
	decision.rule == "other"
}

test_a_rule_of_the_user_goes_by_no_id_of_a_shipped_one if {
	theirs := object.union(mine, {"rule": "files.delete"})
	call := shell([["rm", "a"]])
	answered := object.union(call, {"answers": [{"gate": "", "rule": "files.delete", "decision": "approve", "by": "ann"}]})
	decision := holdgate.decision with input as answered with data.holdgate.custom.a.decision as theirs
	decision.rule == "custom.id_taken"
	decision.action == "deny"
	result := holdgate.result with input as answered with data.holdgate.custom.a.results as {theirs}
	result.rule == "custom.id_taken"
}
