package holdgate

# METADATA
# title: MCP requests other than tool calls
# description: What the settings have no line for is asked about, and so is a request without a method.
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "mcp_request"
	mcp_setting != "auto"
	d := by_setting(mcp_setting, "mcp.method", "medium", "The settings ask about this request to an MCP server.", [mcp_title])
}

default mcp_setting := "ask"

mcp_setting := data.settings.mcp.methods[input.mcp.method]

# METADATA
# title: An MCP request as people read it
# description: The server, the method, and what it is about.
# custom:
#   risk: low
mcp_title := concat(" ", [input.mcp.server, input.mcp.method, input.mcp.name]) if {
	input.mcp.name
} else := concat(" ", [input.mcp.server, input.mcp.method]) if {
	input.mcp.method
} else := "a request without a method"

# METADATA
# title: Checkpoints that an agent asks for
# custom:
#   risk: low
decisions contains d if {
	input.kind == "gate"
	d := ask("gate", "low", "The agent asks for a decision before it goes on.", [])
}

# METADATA
# title: Kinds of call that the pack does not know
# custom:
#   risk: high
decisions contains d if {
	not input.kind in {"tool_call", "model_request", "http_request", "mcp_request", "gate", "message"}
	d := refuse("kind.unknown", "high", "The policy does not know this kind of call.", [])
}

# METADATA
# title: Calls of no kind
# description: In a comparison with `in`, a field that is missing makes the whole rule say nothing.
# custom:
#   risk: high
decisions contains d if {
	not input.kind
	d := refuse("kind.unknown", "high", "The call is of no kind.", [])
}
