package holdgate

# METADATA
# title: Whether the settings lift a rule for this call
# description: |
#   An exception names a rule and why it does not apply, and may narrow itself
#   by match: agent, session, tool, and about, of which every thing that the
#   rule would show must be one. It ends at its time.
# custom:
#   risk: high
excepted(d) if {
	some e in data.settings.exceptions
	e.rule == d.rule
	not expired(e)
	every field, want in object.get(e, "match", {}) {
		matches(field, want, d)
	}
}

expired(e) if {
	dated(e)
	time.parse_rfc3339_ns(e.until) <= time.parse_rfc3339_ns(input.time)
}

expired(e) if {
	e.until
	not dated(e)
}

dated(e) if regex.match(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,}(Z|[+-][0-9]{2}:[0-9]{2})$`, e.until)

matches("agent", want, _) if input.agent.id == want

matches("session", want, _) if input.session.id == want

matches("tool", want, _) if tool_title == want

matches("about", want, d) if {
	count(d.about) > 0
	every thing in d.about {
		thing in want
	}
}
