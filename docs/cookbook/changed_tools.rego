package holdgate.custom.changed_tools

decisions contains {
	"action": "deny",
	"rule": "changed_tools.refuse",
	"reason": "The server describes this tool otherwise than before.",
	"risk": "high",
} if {
	input.tool.definition_changed
}
