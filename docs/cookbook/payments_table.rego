package holdgate.custom.payments_table

decisions contains {
	"action": "deny",
	"rule": "payments_table.refuse",
	"reason": "The table payments is written by the application alone.",
	"risk": "high",
} if {
	some s in input.facts.sql
	s.verb != "select"
	"payments" in s.tables
}
