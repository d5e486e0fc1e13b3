package holdgate.custom.many_deletions

decisions contains {
	"action": "hold",
	"rule": "many_deletions.ask",
	"reason": "More than 50 files are deleted.",
	"risk": "critical",
	"hold": {"approvers": {"passkey": true}},
} if {
	input.facts.impact.paths > 50
	some p in input.facts.paths
	p.access == "delete"
}
