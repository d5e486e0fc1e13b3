package holdgate.custom.readers

decisions contains {
	"action": "deny",
	"rule": "readers.refuse",
	"reason": "The agent auditor only reads.",
	"risk": "medium",
} if {
	input.kind == "tool_call"
	input.agent.id == "auditor"
	input.tool.category != "read"
}
