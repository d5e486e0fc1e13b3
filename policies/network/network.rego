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
# description: By a tool that reaches others, or beside an address that leads off this machine.
# custom:
#   risk: high
decisions contains d if {
	input.facts.secrets
	outward
	d := ask("secrets.sent", "high", "The call sends something that looks like a credential.", [s.kind | some s in input.facts.secrets])
}

outward if input.tool.category in {"network", "message", "unknown", "spawn"}

outward if {
	some u in input.facts.urls
	not lower(u.host) in data.settings.network.hosts
}

# METADATA
# title: Addresses that carry what looks like data
# description: |
#   A long value of letters of both cases and digits in what an address asks for. It is
#   as likely a key as it is a name.
# custom:
#   risk: medium
decisions contains d if {
	input.facts.urls
	not input.facts.commands
	carrying := [u.url | some u in input.facts.urls; carries(u)]
	count(carrying) > 0
	d := ask("network.tool", "medium", "The address carries text that may be data of this machine.", sort(carrying))
}

carries(u) if {
	not lower(u.host) in data.settings.network.hosts
	some [_, value] in regex.find_all_string_submatch_n(`[?&][^=&#]*=([A-Za-z0-9+/=]{16,})`, u.url, 16)
	regex.match(`[A-Z]`, value)
	regex.match(`[a-z]`, value)
	regex.match(`[0-9]`, value)
}

# METADATA
# title: Addresses at which machines keep credentials, or run what they are told
# description: |
#   Of tools that fetch: the metadata of clouds, ports of data.settings.network.ports, schemes that
#   say what they like to any service, and files outside of the session's folder. Commands are judged by their own words.
# custom:
#   risk: high
decisions contains d if {
	input.facts.urls
	not input.facts.commands
	inner := [u.url | some u in input.facts.urls; leads_in(u)]
	count(inner) > 0
	d := ask("network.inner", "high", "The call reaches an address at which a machine gives out credentials, or a service that runs what it is told.", sort(inner))
}

leads_in(u) if regex.match(metadata_hosts, trim_suffix(lower(u.host), "."))

leads_in(u) if u.scheme in {"gopher", "dict", "ldap", "tftp", "jar", "netdoc", "view-source"}

leads_in(u) if {
	u.scheme == "file"
	not in_folder(u)
}

in_folder(u) if startswith(u.url, concat("", ["file://", input.session.cwd, "/"]))

leads_in(u) if {
	some port in ports_of([u.url])
	data.settings.network.ports[port] == "ask"
}

metadata_hosts := `^\[?(169\.254\.[0-9.]+|fd00:ec2::254|fe80:.*|(.*:)?(169\.254\.[0-9.]+|a9fe:.*)|0x[aA]9[fF][eE][0-9a-fA-F]{4}|28519954[0-9]{2}|28520[0-9]{5}|100\.100\.100\.200|168\.63\.129\.16|192\.0\.0\.192|metadata(\.google\.internal|\.goog)?|instance-data(\.ec2\.internal)?)\]?$`
