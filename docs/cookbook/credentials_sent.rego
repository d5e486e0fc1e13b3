package holdgate.custom.credentials_sent

decisions contains {
	"action": "deny",
	"rule": "credentials_sent.refuse",
	"reason": "A credential stands in the arguments.",
	"risk": "high",
} if {
	count(input.facts.secrets) > 0
}
