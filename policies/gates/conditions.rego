package holdgate

# METADATA
# title: Whether the condition of a gate is met
# description: |
#   A gate without one is always asked about. Each part that the configuration
#   names (gates.NAME.when) must be met; where a call does not say enough to tell, it is.
# custom:
#   risk: high
meets(gate) if not input.session.gates_when[gate]

meets(gate) if {
	every part, want in object.remove(input.session.gates_when[gate], ["risk"]) {
		condition(part, want)
	}
}

condition("tools", patterns) if {
	some name in {input.tool.name, tool_title}
	some pattern in patterns
	glob.match(pattern, null, name)
}

condition("categories", want) if input.tool.category in want

condition("categories", want) if {
	some p in input.facts.paths
	p.access in want
}

condition("tools", _) if not input.tool.name

condition("categories", _) if not input.tool.category

condition("categories", _) if input.tool.category == "unknown"

condition("taint", want) if {
	some word in want
	word in input.session.taint
}

condition("confidence_below", line) if certainty < line

condition("confidence_below", _) if not input.confidence

condition("paths", patterns) if {
	some path in named_paths
	some pattern in patterns
	under(pattern, path)
}

condition("paths", _) if paths_unknown

condition("paths", patterns) if {
	takes_along
	some pattern in patterns
	not startswith(pattern, "/")
}

named_paths contains p.clean if some p in input.facts.paths

named_paths contains artifact if some artifact in input.gate.artifacts

# METADATA
# title: Whether a path is one of a pattern, or a folder that may hold one
# description: |
#   A pattern that does not begin with a slash may begin in any folder. Letters are one in
#   either case, as on many disks.
# custom:
#   risk: high
under(pattern, path) if {
	some begin in beginnings(lower(pattern))
	some from in {begin, concat("", ["**/", begin])}
	glob.match(from, ["/"], lower(path))
}

beginnings(pattern) := {pattern} | {concat("/", array.slice(parts, 0, n + 1)) |
	parts := split(pattern, "/")
	some n, part in parts
	not part in {"", "*", "**"}
}

# METADATA
# title: Whether more could be touched than the call names
# custom:
#   risk: high
paths_unknown if count(named_paths) == 0

# A commit takes what is staged, and a test run what is there, whatever else the line names.
paths_unknown if {
	some gate, _ in data.settings.gates
	gate != "before_implement" # at which every change is
	at[gate]
}

paths_unknown if count(commands_by_class) > 0

paths_unknown if input.facts.parse_errors

paths_unknown if input.facts.impact.recursive

paths_unknown if input.facts.impact.more

paths_unknown if {
	some c in input.facts.commands
	object.get(c, "seen", "") != "whole"
}

# METADATA
# title: Whether the call moves or removes what may be a folder, with all that lies in it
# description: Then a pattern that may begin in any folder may begin in that one.
# custom:
#   risk: high
takes_along if {
	some c in input.facts.commands
	c.program == "mv"
}

takes_along if {
	some c in input.facts.commands
	c.program == "git"
	"mv" in c.argv
}

takes_along if {
	not input.facts.commands
	some p in input.facts.paths
	p.access == "delete"
}

takes_along if {
	not input.facts.commands
	regex.match(`(?i)move|rename`, input.tool.name)
}

# METADATA
# title: A question at a gate whose condition names a risk
# description: It stands where another rule says something as grave of the call, as decision/decision.rego sees to.
# custom:
#   risk: high
at_risk(d, gate) := object.union(d, {"least_risk": least}) if {
	least := input.session.gates_when[gate].risk
} else := d
