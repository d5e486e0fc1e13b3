package holdgate.custom.every_row

decisions contains {
	"action": "deny",
	"rule": "every_row.refuse",
	"reason": "The statement has no WHERE.",
	"risk": "high",
} if {
	some s in input.facts.sql
	s.verb in {"update", "delete"}
	not s.where
}
