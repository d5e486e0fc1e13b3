package holdgate.custom.announcements

decisions contains {
	"action": "hold",
	"rule": "announcements.ask",
	"reason": "Everybody reads this channel.",
	"risk": "medium",
} if {
	input.kind == "tool_call"
	input.tool.name == "slack_post_message"
	input.tool.arguments.channel in {"#general", "#announcements"}
}
