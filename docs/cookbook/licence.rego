package holdgate.custom.licence

decisions contains {
	"action": "deny",
	"rule": "licence.refuse",
	"reason": "The licence is changed by people alone.",
	"risk": "medium",
} if {
	some p in input.facts.paths
	changes(p)
	endswith(p.clean, "/LICENSE")
}

changes(p) if p.access != "read"

# A copy into a folder keeps its name: `cp other/LICENSE .`.
changes(_) if {
	some c in input.facts.commands
	c.program in {"cp", "mv", "install", "ln", "rsync"}
}
