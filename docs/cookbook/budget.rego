package holdgate.custom.budget

decisions contains {
	"action": "hold",
	"rule": "budget.ask",
	"reason": "The session has cost more than 20.",
	"risk": "medium",
} if {
	input.kind == "model_request"
	input.usage.cost > 20
}

decisions contains {
	"action": "hold",
	"rule": "budget.unknown",
	"reason": "Nobody knows what the session has cost.",
	"risk": "medium",
} if {
	input.kind == "model_request"
	input.usage.unpriced > 50
}
