package holdgate

# METADATA
# title: Questions that approvals of people may come to answer
# description: |
#   Off unless data.settings.learned.approvals says after how many. Holdgate then
#   counts what people approve; once they have approved as many calls of the same
#   shape within so many days, and denied none, it answers the question itself, as
#   long as this rule still says that it may. A denial begins anew.
# custom:
#   risk: high
learn := {"approvals": data.settings.learned.approvals, "days": data.settings.learned.days} if {
	data.settings.learned.approvals > 0
	input.kind == "tool_call"
	input.agent.proven
	input.session.mode == "auto"
	count(never_learned) == 0
	every entry in enforced {
		may_be_learned(entry[2])
	}
}

# METADATA
# title: Whether the question of a rule is one of those that may be learned
# description: Never one that a person must answer each time, a choice, a gate, or what is grave.
# custom:
#   risk: high
may_be_learned(d) if {
	d.action == "hold"
	d.rule in data.settings.learned.rules
	d.risk in {"low", "medium"}
	object.get(d, ["hold", "required"], false) == false
	object.get(d, ["hold", "kind"], "approval") == "approval"
	object.get(d, ["hold", "gate"], "") == ""
}

# METADATA
# title: Why nothing is learned of a call
# description: What it does hangs on more than is seen of it, or can't be undone.
# custom:
#   risk: high
never_learned contains input.tool.category if {
	input.tool.category in {"exec", "network", "spawn", "message", "delete", "database"}
}

never_learned contains "it runs something" if input.facts.commands

never_learned contains "it reaches the network" if input.facts.urls

never_learned contains "it speaks SQL" if input.facts.sql

never_learned contains "it holds a secret" if input.facts.secrets

never_learned contains "it could not be read in full" if input.facts.parse_errors

never_learned contains "it holds characters that deceive" if input.facts.suspicious_text

never_learned contains "a person changed it" if input.edited

never_learned contains "the session has read or seen what could lead it astray" if input.session.taint

never_learned contains "it touches what decides over the agent" if {
	some p in input.facts.paths
	p.class
}

never_learned contains "it deletes" if {
	some p in input.facts.paths
	p.access == "delete"
}
