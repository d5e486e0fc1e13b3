package holdgate

# METADATA
# title: MCP requests that are not known
# description: The method is the tool's name. Calls of tools are judged as such.
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "mcp_request"
	d := by_setting(object.get(data.settings.mcp.methods, input.tool.name, "ask"), "mcp.method", "medium", "The settings ask about this request to an MCP server.", [tool_title])
}

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
	not known_kind
	d := refuse("kind.unknown", "high", "The policy does not know this kind of call.", [])
}

known_kind if input.kind in {"tool_call", "model_request", "http_request", "mcp_request", "gate", "message"}
