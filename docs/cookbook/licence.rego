package holdgate.custom.licence

decisions contains {
	"action": "deny",
	"rule": "licence.refuse",
	"reason": "The licence is changed by people alone.",
	"risk": "medium",
} if {
	some p in input.facts.paths
	p.access != "read"
	endswith(p.clean, "/LICENSE")
}
