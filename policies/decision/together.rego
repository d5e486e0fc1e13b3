package holdgate

# METADATA
# title: What else asks about the call and is settled by the same answer, the gravest first
# description: The reason says what that rule would show, as its message does.
# custom:
#   risk: low
together := [finding |
	some [_, finding] in array.reverse(sort([[risk, finding] |
		some [_, risk, d] in enforced
		d != verdict
		settled(d)
		finding := {"rule": d.rule, "reason": object.get(d, ["hold", "message"], object.get(d, "reason", "")), "risk": object.get(d, "risk", "medium")}
	]))
]

# METADATA
# title: Whether an answer to the verdict is good enough an answer to another hold
# description: |
#   Whoever may answer the one must be able to answer the other, in the same ways
#   and over a channel that is as sure. Any other hold is asked by itself.
# custom:
#   risk: high
settled(d) if {
	object.get(d, ["hold", "kind"], "approval") == "approval"
	every part in ["gate", "allow", "required", ["approvers", "roles"], ["approvers", "users"], ["approvers", "quorum"], ["approvers", "four_eyes"], ["approvers", "escalate"]] {
		hold_part(d, part) == hold_part(verdict, part)
	}
	assurance(d) <= assurance(verdict)
}

hold_part(d, part) := object.get(d, array.flatten(["hold", part]), null)

assurance(d) := {"text": 0, "interactive": 1, "local": 2, "strong": 3}[demanded(object.get(d, ["hold", "approvers"], {}))]

demanded(approvers) := "strong" if approvers.passkey

else := object.get(approvers, "assurance", "text")
