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
