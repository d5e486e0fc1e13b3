package holdgate.custom.other_team

decisions contains {
	"action": "hold",
	"rule": "other_team.ask",
	"reason": "The folder belongs to the team payments.",
	"risk": "high",
} if {
	some p in input.facts.paths
	p.access != "read"
	startswith(p.clean, "/srv/payments/")
	object.get(input, ["agent", "labels", "team"], "") != "payments"
}
