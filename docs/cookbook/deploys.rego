package holdgate.custom.deploys

decisions contains {
	"action": "hold",
	"rule": "deploys.ask",
	"reason": "A deploy changes what users see.",
	"risk": "high",
	"hold": {"timeout": "30m"},
} if {
	some c in input.facts.commands
	c.program == "deployctl"
}
