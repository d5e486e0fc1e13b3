package holdgate.custom.terraform_destroy

decisions contains {
	"action": "deny",
	"rule": "terraform_destroy.refuse",
	"reason": "Infrastructure is destroyed by people alone.",
	"risk": "high",
} if {
	some c in input.facts.commands
	c.program == "terraform"
	"destroy" in c.argv
}
