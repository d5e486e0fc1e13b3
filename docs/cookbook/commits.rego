package holdgate.custom.commits

decisions contains {
	"action": "hold",
	"rule": "commits.ask",
	"reason": "The agent commits.",
	"risk": "low",
	"hold": {"timeout": "10m", "on_timeout": "approve", "show": ["diff"]},
} if {
	some c in input.facts.commands
	c.program == "git"
	"commit" in c.argv
}
