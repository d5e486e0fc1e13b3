package holdgate.custom.containers

decisions contains {
	"action": "hold",
	"rule": "containers.ask",
	"reason": "A container is started.",
	"risk": "high",
	"observe": true,
} if {
	some c in input.facts.commands
	c.program == "docker"
	some word in c.argv
	word in {"run", "exec"}
}
