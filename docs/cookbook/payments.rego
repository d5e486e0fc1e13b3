package holdgate.custom.payments

decisions contains {
	"action": "hold",
	"rule": "payments.ask",
	"reason": "The amount is over 100.",
	"risk": "high",
	"hold": {"approvers": {"roles": ["finance"]}},
} if {
	input.facts.impact.amount > 100
}
