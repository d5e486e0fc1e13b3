package holdgate

# METADATA
# title: Checkpoints that an agent asks for
# description: |
#   What the configuration says of the gate counts before what the agent asks for.
#   One that is switched off passes, and a conditional one does where the agent is
#   sure enough.
# custom:
#   risk: low
decisions contains d if {
	input.kind == "gate"
	not gate_off
	meets(gate_type)
	not gate_sure
	not gate_hopeless
	d := advised(with_hold(ask("gate", gate_risk, gate_reason, []), gate_hold))
}

# METADATA
# title: An advisory gate is told to people and logged, and holds nothing
# description: One with options is a choice, which somebody has to make.
# custom:
#   risk: medium
advised(d) := object.union(d, {"observe": true}) if {
	input.gate.settings.level == "advisory"
	not gate_hold.options
} else := d

# METADATA
# title: Reports of an agent that does not trust its work at all
# description: Its session is paused until a person has answered.
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "gate"
	gate_hopeless
	d := with_hold(
		ask("confidence.none", "medium", concat(" ", ["The agent itself does not trust this.", how_sure, "Look at what went wrong before it goes on."]), []),
		{"gate": "diagnostics", "required": true, "allow": ["steer"]},
	)
}

gate_off if input.gate.settings.enabled == false

gate_sure if {
	input.gate.settings.level == "conditional"
	certainty >= gate_line
}

gate_hopeless if {
	input.gate.type == "confidence_threshold"
	not gate_off
	certainty < data.settings.confidence.stop
}

gate_line := input.gate.settings.threshold

gate_line := data.settings.confidence.threshold if not input.gate.settings.threshold

gate_reason := concat(" ", ["The agent is not sure enough of its work.", how_sure]) if {
	input.gate.type == "confidence_threshold"
} else := "The agent asks for a decision before it goes on."

gate_risk := "medium" if {
	input.gate.settings.required == true
} else := "low"

# METADATA
# title: How a gate is asked about
# custom:
#   risk: low
gate_hold := object.union_n([
	{"gate": gate_type, "allow": ["steer"]},
	gate_wishes,
	configured(gate_settings),
	report_window,
])

# METADATA
# title: What the configuration of a gate says of how it is asked about
# description: It counts whether the agent asks, or what it does is at the gate.
# custom:
#   risk: low
configured(settings) := object.union_n([
	{name: settings[name] | some name in ["required", "on_timeout", "show", "timeout", "message"]},
	{"allow": [] | settings.edits == false},
	{name: value |
		settings.options[0]
		some name, value in {"kind": "choice", "options": settings.options}
	},
])

default gate_settings := {}

gate_settings := input.gate.settings

gate_type := input.gate.type if {
	input.gate.type
} else := "gate"

# METADATA
# title: What the agent wishes, where the configuration says nothing
# description: The time is in seconds.
# custom:
#   risk: low
gate_wishes := object.union(
	{"timeout": input.gate.timeout | true},
	gate_choice,
)

gate_choice := {"kind": "choice", "options": input.gate.options} if {
	input.gate.options[0]
} else := {}

with_hold(d, how) := object.union(d, {"hold": how})

# METADATA
# title: Changes in a session that must pass a gate first
# description: Looking around is let through, so that there is something to show at the gate.
# custom:
#   risk: medium
decisions contains d if {
	some gate in input.session.gates_needed
	input.kind == "tool_call"
	changes_something
	meets(gate)
	d := at_gate(ask("session.gate", "medium", concat("", ["The session must pass a gate before it changes anything: ", gate, "."]), []), gate)
}

# METADATA
# title: Calls that are at a gate by what they do
# description: "`git commit` is before_commit, a test run before_verify, whether the agent says so or not. data.settings.gates lists the commands."
# custom:
#   risk: medium
decisions contains d if {
	some gate in input.session.gates_on
	input.kind == "tool_call"
	not passed(gate)
	about := at[gate]
	meets(gate)
	d := at_gate(ask("session.checkpoint", "medium", concat("", ["The call is at the gate ", gate, "."]), sort(about)), gate)
}

# METADATA
# title: Calls that are at an advisory gate by what they do
# description: They go on; people are told, and the log says so.
# custom:
#   risk: low
decisions contains d if {
	some gate in input.session.gates_told
	input.kind == "tool_call"
	not passed(gate)
	about := at[gate]
	meets(gate)
	d := object.union(
		at_gate(ask("session.advice", "low", concat("", ["The call is at the advisory gate ", gate, "."]), sort(about)), gate),
		{"observe": true},
	)
}

passed(gate) if gate in input.session.gates_passed

at[gate] contains concat(" ", c.argv) if {
	some gate, commands in data.settings.gates
	some command in commands
	some c in input.facts.commands
	line := array.concat([c.program], words(c))
	array.slice(line, 0, count(command)) == command
}

at.before_implement contains tool_title if changes_something

# METADATA
# title: A question under a gate of the session
# description: A grant does not answer it. Whoever lets the call go on lets the session pass the gate.
# custom:
#   risk: medium
at_gate(d, gate) := at_risk(
	with_hold(d, object.union_n([
		d.hold,
		{"gate": gate, "allow": ["steer", "edit"], "passes": true},
		configured(settings_of(gate)),
	])),
	gate,
)

settings_of(gate) := input.session.gates_settings[gate] if {
	input.session.gates_settings[gate]
} else := {}

# METADATA
# title: Whether a call changes something, or could
# custom:
#   risk: medium
changes_something if not input.tool.category in {"read", "exec", "network"}

changes_something if {
	some p in input.facts.paths
	p.access != "read"
}

changes_something if {
	input.tool.category == "exec"
	not input.facts.commands
}

changes_something if {
	input.tool.category == "exec"
	some class, _ in commands_by_class
	class != "remote"
}

# METADATA
# title: The very same call, again and again
# description: Off unless the settings say how often is too often.
# custom:
#   risk: low
decisions contains d if {
	input.session.repeats > data.settings.repeats
	data.settings.repeats > 0
	input.kind == "tool_call"
	d := ask("session.repeats", "low", sprintf("The session has made this very call %d times in the last minutes.", [input.session.repeats]), [tool_title])
}
