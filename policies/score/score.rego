# METADATA
# title: The confidence scorer
# description: |
#   How sure to be of a piece of work, from 0 to 1, by what is known of it. It is
#   usable by itself: score.of({
#     "verification": {"tier": 2, "checks": [{"passed": true}], "confidence": 0.9},
#     "retries": {"count": 1, "max": 3},
#     "destructive": false,
#     "tools": [{"success": true}]}).
#   In place of the list, tools may be counted: {"succeeded": 18, "failed": 2}.
#   Each part has a weight. What is not known of the work has none, and neither
#   helps nor harms; where nothing is known the score is 0.
package holdgate.score

# METADATA
# title: What each part weighs
# custom:
#   risk: low
weights := {"checks": 0.3, "verifier": 0.3, "retries": 0.2, "harmless": 0.1, "tools": 0.1}

# METADATA
# title: The score of a piece of work
# custom:
#   risk: low
of(work) := sum(weighed) / sum(applying) if {
	known := parts(work)
	count(known) > 0
	weighed := [w | some name, value in known; w := weights[name] * value]
	applying := [weights[name] | some name in object.keys(known)]
} else := 0

# METADATA
# title: The parts of the score that are known, each from 0 to 1
# custom:
#   risk: low
parts(work) := {name: value |
	some name in object.keys(weights)
	value := part(name, work)
}

part("checks", work) := count([c | some c in checks; c.passed == true]) / max([count(checks), 1]) if {
	work.verification.tier >= 1
	checks := object.get(work, ["verification", "checks"], [])
}

part("verifier", work) := between(work.verification.confidence) if work.verification.tier >= 2

part("retries", work) := 1 - between(work.retries.count / work.retries.max) if work.retries.max > 0

part("harmless", work) := {true: 0, false: 1}[work.destructive]

part("tools", work) := work.tools.succeeded / (work.tools.succeeded + work.tools.failed) if {
	work.tools.succeeded + work.tools.failed > 0
}

part("tools", work) := count([t | some t in work.tools; t.success == true]) / count(work.tools) if {
	is_array(work.tools)
	count(work.tools) > 0
}

between(x) := min([max([x, 0]), 1]) if is_number(x)
