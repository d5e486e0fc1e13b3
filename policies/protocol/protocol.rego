package holdgate

# METADATA
# title: MCP requests other than tool calls
# description: |
#   A method that the settings have no line for is asked about, and so is a request without a method. What a server asks of
#   its client passes where the settings have no line for it, and so does the answer.
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "mcp_request"
	mcp_setting != "auto"
	d := by_setting(mcp_setting, "mcp.method", "medium", "The settings ask about this request to an MCP server.", [mcp_title])
}

default mcp_setting := "ask"

mcp_setting := data.settings.mcp.methods[input.mcp.method] if {
	not mcp_from_server
} else := object.get(data.settings.mcp, ["from_servers", input.mcp.method], "auto") if {
	mcp_from_server
}

# METADATA
# title: What an MCP server asks of the client, and the client's answer
# description: The settings have lines of their own for it; what has none passes.
# custom:
#   risk: low
mcp_from_server if input.mcp.from_server

mcp_from_server if input.mcp.answer

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
