package holdgate.custom.at_night

decisions contains {
	"action": "hold",
	"rule": "at_night.ask",
	"reason": "It is night, and nobody watches.",
	"risk": "medium",
} if {
	some e in input.facts.effects
	e.kind in {"write", "delete", "change"}
	[hour, _, _] := time.clock(time.parse_rfc3339_ns(input.time))
	hour < 6
}
