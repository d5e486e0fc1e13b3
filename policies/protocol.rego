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
# description: It waits for the answer.
# custom:
#   risk: low
decisions contains d if {
	input.kind == "gate"
	d := ask("gate", "low", "The agent asks for a decision before it goes on.", [])
}
