package holdgate.custom.unsure

decisions contains {
	"action": "hold",
	"rule": "unsure.ask",
	"reason": "The agent does not trust its own work.",
	"risk": "medium",
} if {
	input.confidence.score < 0.5
	some e in input.facts.effects
	e.kind in {"write", "delete", "change"}
}
