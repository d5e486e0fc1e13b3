package holdgate.custom.production_cluster

decisions contains {
	"action": "hold",
	"rule": "production_cluster.ask",
	"reason": "This reaches the production cluster.",
	"risk": "critical",
	"hold": {"approvers": {"quorum": 2}},
} if {
	some c in input.facts.commands
	c.program in {"kubectl", "helm"}
	contains(c.target.context, "prod")
}
