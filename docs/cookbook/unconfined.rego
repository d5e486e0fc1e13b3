package holdgate.custom.unconfined

decisions contains {
	"action": "hold",
	"rule": "unconfined.ask",
	"reason": "Nothing confines this agent.",
	"risk": "medium",
} if {
	input.kind == "tool_call"
	count(input.facts.commands) > 0
	object.get(input, ["confinement", "level"], "none") != "strong"
}
