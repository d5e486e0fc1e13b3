package holdgate.custom.protected_branch

decisions contains {
	"action": "deny",
	"rule": "protected_branch.refuse",
	"reason": "The history of main is never rewritten.",
	"risk": "high",
} if {
	some c in input.facts.commands
	c.program == "git"
	"push" in c.argv
	some word in c.argv
	word in {"-f", "--force"}
	"main" in c.argv
}
