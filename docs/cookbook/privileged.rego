package holdgate.custom.privileged

decisions contains {
	"action": "deny",
	"rule": "privileged.refuse",
	"reason": "Agents do not work as root.",
	"risk": "high",
} if {
	some c in input.facts.commands
	some program in array.concat([c.program], object.get(c, "via", []))
	program in {"sudo", "doas", "su"}
}
