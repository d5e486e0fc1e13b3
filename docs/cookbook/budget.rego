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
