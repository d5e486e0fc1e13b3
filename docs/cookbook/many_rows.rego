package holdgate.custom.many_rows

decisions contains {
	"action": "hold",
	"rule": "many_rows.ask",
	"reason": "More than 1000 rows change.",
	"risk": "high",
} if {
	input.facts.impact.rows > 1000
}
