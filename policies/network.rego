package holdgate

# METADATA
# title: Calling the approvers' door
# description: By an address anywhere in the call.
# custom:
#   risk: critical
decisions contains d if {
	input.facts.urls
	some u in input.facts.urls
	decides_calls(u)
	d := refuse("self_approval", "critical", "An agent does not decide its own calls.", [u.url])
}

# METADATA
# title: Whether an address is the approvers' door
# description: Holdgate has looked already, but for inputs that are written by hand.
# custom:
#   risk: critical
decides_calls(u) if u.self

decides_calls(u) if contains(u.url, data.settings.network.approvers)

# METADATA
# title: Sending credentials away
# description: By a tool that reaches others, or beside an address.
# custom:
#   risk: high
decisions contains d if {
	input.facts.secrets
	outward
	d := ask("secrets.sent", "high", "The call sends something that looks like a credential.", [s.kind | some s in input.facts.secrets])
}

outward if input.tool.category in {"network", "message", "unknown", "spawn"}

outward if input.facts.urls[0]
