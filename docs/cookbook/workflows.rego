package holdgate.custom.workflows

decisions contains {
	"action": "hold",
	"rule": "workflows.ask",
	"reason": "A workflow runs with the rights of CI.",
	"risk": "high",
} if {
	some p in input.facts.paths
	p.access != "read"
	contains(p.clean, "/.github/workflows/")
}
