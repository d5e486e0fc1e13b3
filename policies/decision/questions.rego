package holdgate

# METADATA
# title: A question to a person
# description: |
#   The parts that every hold of the pack has. What the call would touch goes
#   into the message, and exceptions can match it.
# custom:
#   risk: low
ask(rule, risk, reason, about) := {
	"action": "hold",
	"rule": rule,
	"risk": risk,
	"reason": reason,
	"about": about,
	"hold": {
		"message": concat("", [reason, touched(about)]),
		"approvers": object.get(data.settings.approvers, risk, {}),
	},
}

# METADATA
# title: A refusal
# custom:
#   risk: high
refuse(rule, risk, reason, about) := {
	"action": "deny",
	"rule": rule,
	"risk": risk,
	"reason": concat("", [reason, touched(about)]),
	"about": about,
}

# METADATA
# title: A setting of auto, ask or deny, as a decision
# custom:
#   risk: medium
by_setting("ask", rule, risk, reason, about) := ask(rule, risk, reason, about)

by_setting("deny", rule, risk, reason, about) := refuse(rule, risk, concat("", [reason, " They refuse it."]), about)

by_setting(other, rule, risk, _, about) := refuse(rule, risk, "The settings say neither auto, ask nor deny.", about) if {
	not other in {"auto", "ask", "deny"}
}

# METADATA
# title: What a call would touch, as the end of a sentence
# description: The name of the tool is no such thing, and stands in the summary.
# custom:
#   risk: low
touched(about) := "" if {
	{name | some name in about} == {tool_title}
} else := concat("", [" It would touch: ", concat("; ", about)]) if {
	count(about) > 0
} else := ""

# METADATA
# title: The name of a tool as settings write it
# description: A tool of an MCP server is server/tool.
# custom:
#   risk: low
tool_title := concat("/", [input.tool.server, input.tool.name]) if input.tool.server

else := input.tool.name
