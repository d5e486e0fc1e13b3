package holdgate.custom.loops

decisions contains {
	"action": "hold",
	"rule": "loops.ask",
	"reason": "The agent has made this very call more than five times.",
	"risk": "low",
} if {
	input.session.repeats > 5
}
