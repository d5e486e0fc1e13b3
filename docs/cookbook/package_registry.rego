package holdgate.custom.package_registry

decisions contains {
	"action": "hold",
	"rule": "package_registry.ask",
	"reason": "A package comes from outside.",
	"risk": "high",
} if {
	some c in input.facts.commands
	c.program in {"npm", "pip", "pip3"}
	some word in c.argv
	word == "install"
	not own_registry(c)
}

own_registry(c) if {
	some word in c.argv
	contains(word, "registry.internal")
}
