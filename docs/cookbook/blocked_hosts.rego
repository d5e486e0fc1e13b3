package holdgate.custom.blocked_hosts

decisions contains {
	"action": "deny",
	"rule": "blocked_hosts.refuse",
	"reason": "This domain is not for agents.",
	"risk": "high",
} if {
	some u in input.facts.urls
	endswith(concat("", [".", u.host]), ".example.net")
}
