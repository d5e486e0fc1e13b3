package holdgate.custom.migrations

decisions contains {
	"action": "hold",
	"rule": "migrations.ask",
	"reason": "A migration changes the database.",
	"risk": "high",
	"hold": {"approvers": {"roles": ["database"]}},
} if {
	some p in input.facts.paths
	p.access != "read"
	contains(concat("", [p.clean, "/"]), "/migrations/")
}
