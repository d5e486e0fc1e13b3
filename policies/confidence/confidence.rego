package holdgate

# METADATA
# title: How sure the agent says it is
# description: |
#   In mode confidence_threshold there is one line, below which calls are held.
#   In the other modes there are four bands: go on, go on unless somebody steps
#   in, wait for a person, give up. Without a score nothing is asked here.
# custom:
#   risk: low
tool_decisions contains d if {
	is_number(input.confidence.score)
	not input.session.mode == "confidence_threshold"
	d := band_decision(band(certainty))
}

# METADATA
# title: How sure to be of the work
# description: What the agent reports, or less where what is known of its work says so.
# custom:
#   risk: low
certainty := min([input.confidence.score, data.holdgate.score.of(work)]) if {
	count(data.holdgate.score.parts(work)) > 0
} else := input.confidence.score

# METADATA
# title: How sure to be, in words
# description: What the agent reports stands beside what counts.
# custom:
#   risk: low
how_sure := sprintf("It reports a confidence of %s.", [hundredths(certainty)]) if {
	certainty == input.confidence.score
} else := sprintf("By what is known of its work the confidence is %s; it reports %s.", [hundredths(certainty), hundredths(input.confidence.score)]) if {
	certainty
} else := "It has not said how sure it is."

hundredths(x) := sprintf("%v", [round(x * 100) / 100])

# METADATA
# title: What is known of the work, with how its tools ended
# description: A few results say nothing. data.settings.confidence.least_results says how many do; 0 is never.
# custom:
#   risk: low
work := object.union(reported_work, {"tools": input.confidence.tools}) if {
	results_seen
} else := reported_work

results_seen if {
	data.settings.confidence.least_results > 0
	input.confidence.tools.succeeded + input.confidence.tools.failed >= data.settings.confidence.least_results
}

reported_work := object.get(input.confidence, "work", {})

band(score) := "proceed" if {
	score >= data.settings.confidence.proceed
} else := "show" if {
	score >= data.settings.confidence.show
} else := "stop" if {
	score >= data.settings.confidence.stop
} else := "abort"

# METADATA
# title: Shown, and released unless somebody steps in
# description: A claim stops the clock. Once the session was let pass the report's own gate, it was shown.
# custom:
#   risk: low
band_decision("show") := object.union(
	at_report(ask("confidence.medium", "low", concat(" ", ["The agent is not quite sure of this.", how_sure]), [])),
	window,
) if {
	not passed("confidence_threshold")
}

# METADATA
# title: The time after which silence lets a report go on, or a call that is judged by it
# description: What waits for the gate of the report goes on with it, and has no window of its own.
# custom:
#   risk: medium
window := {} if {
	waits_for_report
} else := {"hold": show_window} if {
	not scored_itself
} else := {}

show_window := {"timeout": data.settings.confidence.show_for, "on_timeout": "approve"}

waits_for_report if {
	input.kind == "tool_call"
	"confidence_threshold" in input.session.gates_needed
}

# METADATA
# title: A question about a call whose report is asked about already
# description: Whoever answers for the report answers for the call.
# custom:
#   risk: medium
at_report(d) := at_gate(d, "confidence_threshold") if {
	waits_for_report
} else := d

# METADATA
# title: How silence answers for a report
# description: |
#   It lets it go on where calls with this report would go on by themselves, unless
#   the configuration of the gate says how long people are waited for.
# custom:
#   risk: medium
report_window := show_window if {
	input.gate.type == "confidence_threshold"
	input.gate.settings.level == "conditional"
	not input.gate.settings.timeout
	not input.gate.settings.required
	certainty >= data.settings.confidence.show
	not scored_itself
} else := {}

# METADATA
# title: Whether the agent alone says how sure it is
# description: |
#   Silence does not approve on its word, but on that of agents that the settings
#   trust, and where Holdgate has seen how the tools of one ended that cannot go
#   around it.
# custom:
#   risk: medium
scored_itself if {
	input.confidence.source == "agent"
	not trusted_to_score
	not borne_out
}

trusted_to_score if {
	input.agent.proven
	input.agent.id in data.settings.confidence.trusted
}

borne_out if {
	input.agent.confinement == "strong"
	results_seen
}

# METADATA
# title: Stopped until a person decides
# description: Silence denies.
# custom:
#   risk: medium
band_decision("stop") := at_report(ask("confidence.low", "medium", concat(" ", ["The agent is not sure of this.", how_sure]), []))

# METADATA
# title: Given up
# description: The reasons that the agent gave are its own words, and stand in none of policy's.
# custom:
#   risk: medium
band_decision("abort") := refuse("confidence.none", "medium", "The agent itself does not trust this. Look at what went wrong before trying again.", [])

# METADATA
# title: Sessions in another mode than auto
# description: A session without a mode is in mode auto.
# custom:
#   risk: medium
tool_decisions contains d if {
	input.session.mode != "auto"
	d := mode_decision(input.session.mode)
}

# METADATA
# title: Mode confidence_threshold
# description: A call without a score counts as below the threshold.
# custom:
#   risk: medium
mode_decision("confidence_threshold") := ask("confidence.threshold", "medium", "The agent's confidence is below the session's threshold, or it has reported none.", []) if not sure

sure if certainty >= threshold

threshold := input.session.confidence_threshold

threshold := data.settings.confidence.threshold if not input.session.confidence_threshold

# METADATA
# title: Mode manual
# description: Every call of a tool is asked about.
# custom:
#   risk: medium
mode_decision("manual") := ask("mode.manual", "low", "The session is in manual mode: a person approves every step.", [tool_title])

# METADATA
# title: Modes that the pack does not know
# description: A slip in a mode is asked about, not overlooked.
# custom:
#   risk: medium
mode_decision(mode) := ask("mode.unknown", "medium", "The session is in a mode that the policy does not know.", []) if {
	not mode in {"manual", "confidence_threshold"}
}
