package holdgate.custom.two_questions

decisions contains {
	"action": "hold",
	"rule": "two_questions.ask",
	"reason": "Keys are about to change.",
	"risk": "high",
	"hold": {"gate": "security", "approvers": {"roles": ["security"]}},
} if {
	input.kind == "tool_call"
	input.tool.name == "rotate_keys"
}

decisions contains {
	"action": "hold",
	"rule": "two_questions.ask_owner",
	"reason": "Keys are about to change.",
	"risk": "high",
	"hold": {"gate": "owner", "approvers": {"roles": ["owner"]}},
} if {
	input.kind == "tool_call"
	input.tool.name == "rotate_keys"
}
