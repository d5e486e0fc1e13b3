package holdgate.custom.models

decisions contains {
	"action": "deny",
	"rule": "models.refuse",
	"reason": "This model is not on the list.",
	"risk": "medium",
} if {
	input.kind == "model_request"
	not input.model.name in {"claude-sonnet-4-5", "claude-haiku-4-5"}
}
