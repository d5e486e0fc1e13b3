package holdgate

# METADATA
# title: Sending out what strangers may have asked for
# description: |
#   The session has read text that strangers wrote, which may hold instructions, and
#   it has seen private data or secrets. What it sends now may be these. What
#   data.settings.taint.send says: ask, deny, or auto for no question.
# custom:
#   risk: high
decisions contains d if {
	input.session.taint
	"untrusted" in input.session.taint
	seen_private
	data.settings.taint.send != "auto"
	count(sent) > 0
	d := by_setting(data.settings.taint.send, "session.taint", "high", "The session has read what strangers wrote and has seen private data, and this call sends something out.", sort(sent))
}

# METADATA
# title: Sending out what unread code may have read
# description: |
#   The session has run code that nobody has read or was asked about, and credentials
#   are not hidden from it.
# custom:
#   risk: high
decisions contains d if {
	input.session.taint
	"unread" in input.session.taint
	not input.confinement.hidden == true
	data.settings.taint.send != "auto"
	count(sent) > 0
	d := by_setting(data.settings.taint.send, "session.taint", "high", "The session has run code that nobody has read, which may have read credentials, and this call sends something out.", sort(sent))
}

# Code that ran unread and unasked.
taints contains "unread" if {
	some d in decisions
	startswith(d.rule, "shell.")
	spared(d)
}

seen_private if "private" in input.session.taint

seen_private if "secrets" in input.session.taint

# METADATA
# title: What a call sends, and where to
# description: A request for a page sends its address. Hosts of data.settings.network.hosts are no outside.
# custom:
#   risk: high
sent contains host if {
	input.tool.category in {"network", "unknown", "spawn"}
	some host in reached
}

sent contains tool_title if {
	input.tool.category == "network"
	not input.facts.urls
}

sent contains tool_title if input.tool.category == "message"

sent contains tool_title if {
	input.tool.annotations.openWorldHint == true
	input.tool.category != "read"
}

sent contains tool_title if {
	not input.tool.category == "read"
	count(server_words) > 0
}

# A server that is not on this machine gets what it is asked.
sent contains tool_title if input.tool.remote == true

# One that is may pass it on, unless it says that it does not: so has the protocol.
sent contains tool_title if {
	not known_category
	plain_reader
	not input.tool.annotations.openWorldHint == false
}

sent contains about if {
	input.tool.category == "exec"
	more_than_plain
	some class in ["network", "tunnel", "remote", "publish", "git_push", "git_force", "deploy"]
	some about in commands_by_class[class]
}

sent contains http_title if {
	input.kind == "http_request"
	not reads
	not bare_host in data.settings.network.hosts
}

# METADATA
# title: What the session is in touch with once the call has gone on
# description: |
#   "untrusted": text of strangers; "private": data of people; "secrets"; "unread":
#   code that nobody has read. The session keeps it, and later calls see it as input.session.taint.
# custom:
#   risk: medium
taints contains "untrusted" if {
	input.tool.category == "network"
	outside
}

outside if count(reached) > 0

outside if not input.facts.urls

taints contains "untrusted" if {
	input.tool.category == "exec"
	more_than_plain
	commands_by_class.network
}

taints contains "untrusted" if {
	input.tool.category == "exec"
	more_than_plain
	commands_by_class.remote
}

taints contains "untrusted" if input.tool.annotations.openWorldHint == true

taints contains "untrusted" if {
	input.tool.remote == true
	plain_reader
}

taints contains "untrusted" if {
	input.kind == "model_request"
	some tool in input.model.server_tools
	regex.match(`web|search|fetch|url_context|browser|computer|mcp`, lower(tool.type))
}

taints contains "private" if input.tool.category == "database"

taints contains "secrets" if {
	some p in input.facts.paths
	p.class == "secret"
	p.access == "read"
}

taints contains "secrets" if {
	input.tool.category == "exec"
	more_than_plain
	commands_by_class.secret
}

taints contains "secrets" if input.facts.secrets[0]

taints contains word if some word in data.settings.taint.tools[tool_title]

taints contains word if some word in server_words

taints contains word if {
	input.kind == "mcp_request"
	input.mcp.method in {"resources/read", "prompts/get"}
	some word in data.settings.taint.servers[lower(input.mcp.server)]
}

# METADATA
# title: What the settings say that the tool's MCP server brings into touch with
# custom:
#   risk: medium
server_words contains word if some word in data.settings.taint.servers[lower(input.tool.server)]

server_words contains word if {
	not input.tool.server
	some word in data.settings.taint.servers[lower(split(input.tool.stands_for, "/")[0])]
}

server_words contains word if {
	not input.tool.server
	not input.tool.stands_for
	some word in data.settings.taint.servers[lower(split(model_side_title, "/")[0])]
}
