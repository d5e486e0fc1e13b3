# METADATA
# title: Deploys
# description: An example. Change it, and its test beside it, or delete both.
# schemas:
#   - input: schema.input.input
package holdgate.custom.deploys

# METADATA
# title: A deploy is asked about, for half an hour
# custom:
#   risk: high
decisions contains {
	"action": "hold",
	"rule": "deploys.ask",
	"reason": "A deploy changes what users see.",
	"risk": "high",
	"hold": {"timeout": "30m"},
} if {
	some c in input.facts.commands
	c.program == "deployctl"
}
