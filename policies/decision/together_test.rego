package holdgate_test

import data.holdgate

# A call that three rules of the pack ask about.
several := object.union(shell([["rm", "x"], ["npm", "publish"], ["git", "push"]]), {"session": {"mode": "manual"}})

test_other_questions_are_named_the_gravest_first if {
	decision := holdgate.decision with input as several
	decision.rule == "publish"
	[f.rule | some f in decision.also] == ["git.push", "files.delete", "mode.manual"]
	contains(decision.also[1].reason, "rm x")
	decision.also[1].risk == "medium"
}

test_one_answer_settles_all_that_were_named if {
	answer := {"gate": "", "rule": "publish", "decision": "approve", "by": "ada", "also": ["git.push", "files.delete", "mode.manual"]}
	holdgate.decision.action == "allow" with input as object.union(several, {"answers": [answer]})
}

test_an_answer_settles_nothing_that_was_not_named if {
	answer := {"gate": "", "rule": "publish", "decision": "approve", "by": "ada", "also": ["git.push"]}
	decision := holdgate.decision with input as object.union(several, {"answers": [answer]})
	decision.rule == "files.delete"
	[f.rule | some f in decision.also] == ["mode.manual"]
}

test_a_single_question_names_no_other if {
	decision := holdgate.decision with input as shell([["rm", "x"]])
	not decision.also
}

beside(other) := [f.rule | some f in decision.also] if {
	decision := holdgate.decision with input as shell([["npm", "publish"]])
		with data.holdgate.custom.mine.decisions as {object.union({"action": "hold", "rule": "mine", "reason": "Mine.", "risk": "low"}, other)}
}

test_what_needs_other_people_or_ways_is_asked_by_itself if {
	beside({}) == ["mine"]
	beside({"hold": {"message": "Well?", "timeout": "5m", "on_timeout": "approve"}}) == ["mine"]
	beside({"hold": {"approvers": {"assurance": "interactive"}}}) == ["mine"]
	beside({"hold": {"approvers": {"assurance": "strong"}}}) == []
	beside({"hold": {"approvers": {"passkey": true}}}) == []
	beside({"hold": {"approvers": {"roles": ["security"]}}}) == []
	beside({"hold": {"approvers": {"quorum": 2}}}) == []
	beside({"hold": {"gate": "before_commit"}}) == []
	beside({"hold": {"kind": "choice", "options": [{"id": "a"}]}}) == []
	beside({"hold": {"required": true}}) == []
	beside({"hold": {"allow": []}}) == []
}

test_a_hold_that_silence_denies_is_asked_first if {
	call := object.union(shell([["ls"]]), {"session": {"mode": "manual"}, "confidence": {"score": 0.6}})
	decision := holdgate.decision with input as call
	decision.rule == "mode.manual"
	[f.rule | some f in decision.also] == ["confidence.medium"]
}

test_a_refusal_names_no_other if {
	decision := holdgate.decision with input as shell([["rm", "x"], ["holdgate", "approve"]])
	decision.action == "deny"
	not decision.also
}

# A rule of somebody's that redacts a part of the call.
redacting := {{"action": "allow", "rule": "mine", "redact": ["/tool/arguments/command"]}}

test_what_is_hidden_as_a_whole_is_quoted_by_none if {
	decision := holdgate.decision with input as several with data.holdgate.custom.mine.decisions as redacting
	every f in decision.also {
		not contains(f.reason, "It would touch")
	}
}

test_of_a_tools_arguments_holdgate_hides_the_credentials_itself if {
	call := json.patch(several, [{"op": "add", "path": "/facts/secrets", "value": [{"kind": "aws_access_key", "pointer": "/command"}]}])
	decision := holdgate.decision with input as call
	not decision.redact
}
