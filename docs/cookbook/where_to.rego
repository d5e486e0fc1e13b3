package holdgate.custom.where_to

decisions contains {
	"action": "hold",
	"rule": "where_to.ask",
	"reason": "Where should it be released?",
	"risk": "high",
	"hold": {"kind": "choice", "options": [{"id": "staging", "label": "To staging"}, {"id": "stop", "label": "Not at all", "effect": "deny"}]},
} if {
	input.kind == "tool_call"
	input.tool.name == "release"
}
