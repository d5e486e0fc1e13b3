package holdgate.custom.workflows

decisions contains {
	"action": "hold",
	"rule": "workflows.ask",
	"reason": "A workflow runs with the rights of CI.",
	"risk": "high",
} if {
	some p in input.facts.paths
	p.access != "read"
	workflow(p.clean)
}

workflow(clean) if contains(concat("", [clean, "/"]), "/.github/workflows/")

# The folder above it, as a whole: `rm -rf .github`.
workflow(clean) if endswith(clean, "/.github")
