# METADATA
# title: The shipped pack
# description: |
#   Each file of the pack adds to one set, decisions, and so do packages of the
#   user under holdgate.custom. This file makes one decision of them: the
#   strictest wins, and a rule that a person has answered is not asked again.
# scope: subpackages
# schemas:
#   - input: schema.input.input
#   - data.settings: schema.settings.settings
package holdgate

# METADATA
# title: The entry point
# description: What Holdgate does with the call. See schemas/decision.
# entrypoint: true
# custom:
#   risk: low
decision := {"action": "allow", "rule": "default", "reason": "No rule asks for it to be held."} if {
	known_kind
	decisions == set()
	not input.facts.secrets
	taints == set()
} else := object.union(shown(asked), {"taint": sort(taints)}) if {
	count(taints) > 0
	is_object(asked)
} else := shown(asked)

# METADATA
# title: What remains where rules have said something
# description: A kind of call that the pack does not know is refused, whatever rules say of it.
# custom:
#   risk: high
verdict := refuse("kind.unknown", "high", "The policy does not know this kind of call.", []) if {
	not known_kind
} else := max(enforced)[2] if {
	count(enforced) > 0
} else := max(observed)[2] if {
	count(observed) > 0
} else := {"action": "allow", "rule": rule, "reason": "A person has approved it."} if {
	rule := max({d.rule | some d in decisions; answered(d)})
} else := {"action": "allow", "rule": "default", "reason": "No rule asks for it to be held."}

known_kind if input.kind in {"tool_call", "model_request", "http_request", "mcp_request", "gate", "message"}

# METADATA
# title: The verdict, with the other rules that ask, so that one answer settles all of them
# description: And with what approvals may come to answer, as habits/habits.rego says.
# custom:
#   risk: low
asked := object.union_n([verdict, beside, learning]) if {
	verdict.action == "hold"
} else := verdict

default beside := {}

beside := {"also": together} if together[0]

default learning := {}

learning := {"hold": {"learn": learn}}

# METADATA
# title: Decisions that stand, by strictness, then by risk
# description: |
#   What has no known action ranks above a denial, so that a slip in a rule is
#   seen and refused rather than overlooked.
# custom:
#   risk: low
enforced contains [rank, risk, d] if {
	some d in standing
	not d.observe == true
	rank := strictness(d)
	rank > 0
	risk := gravity(d)
}

# METADATA
# title: Decisions of rules that only observe
# custom:
#   risk: low
observed contains [rank, risk, d] if {
	some d in standing
	d.observe == true
	rank := strictness(d)
	rank > 0
	risk := gravity(d)
}

standing contains d if {
	some d in decisions
	not answered(d)
	not excepted(d)
	not tame(d)
	not spared(d)
}

# METADATA
# title: Whether a question is for graver calls than this
# description: A gate with a condition may be, as gates/conditions.rego says.
# custom:
#   risk: high
tame(d) if {
	least := gravity({"risk": d.least_risk})
	graver := [other |
		some other in decisions
		not other.least_risk
		gravity(other) >= least
	]
	count(graver) == 0
}

default strictness(_) := 4

strictness(d) := {"allow": 0, "deny": 3}[d.action]

strictness(d) := 2 - silence_approves(d) if d.action == "hold"

default silence_approves(_) := 0

silence_approves(d) := 1 if d.hold.on_timeout == "approve"

default gravity(_) := 0

gravity(d) := {"low": 1, "medium": 2, "high": 3, "critical": 4}[d.risk]

# METADATA
# title: Whether a person has said yes to this very question
# description: |
#   The rule must be the one that was asked, or one that was named beside it,
#   and the gate the same. Silence counts only where the rule lets silence
#   approve, and an option only where its effect is not to deny.
# custom:
#   risk: low
answered(d) if {
	some a in input.answers
	d.action == "hold"
	d.rule in array.concat([a.rule], object.get(a, "also", []))
	object.get(a, "gate", "") == object.get(d, ["hold", "gate"], "")
	approving(a, d)
}

approving(a, _) if a.decision in {"approve", "edit"}

approving(a, d) if {
	a.decision == "timeout"
	d.hold.on_timeout == "approve"
}

approving(a, d) if {
	a.decision == "choose"
	some o in d.hold.options
	o.id == a.choice
	object.get(o, "effect", "approve") == "approve"
}

# METADATA
# title: The decision as it leaves the policy
# description: |
#   Without what only the pack uses. What any rule redacts is redacted, also
#   where another rule asks, or a person has answered; then no text quotes it.
# custom:
#   risk: low
shown(d) := object.union(quiet(object.remove(d, {"about", "least_risk"})), {"redact": [p | some p in hidden]}) if {
	is_object(d)
	count(hidden) > 0
} else := object.remove(d, {"about", "least_risk"}) if {
	is_object(d)
} else := d

hidden contains p if {
	some d in decisions
	some p in d.redact
}

# Of a tool's arguments Holdgate itself hides the credentials, and only them.
hidden contains p if {
	some s in input.facts.secrets
	p := concat("", [secret_root, s.pointer])
}

secret_root := "/gate" if {
	input.kind == "gate"
} else := "/http" if {
	input.kind == "http_request"
} else := "/mcp" if {
	input.kind == "mcp_request"
}

# METADATA
# title: A decision whose texts do not say what the call would touch
# custom:
#   risk: low
quiet(d) := json.patch(d, array.concat(texts, others)) if {
	texts := [{"op": "replace", "path": path, "value": unquoted(text)} |
		some path in [["reason"], ["hold", "message"]]
		text := object.get(d, path, null)
		is_string(text)
	]
	others := [{"op": "replace", "path": ["also", i, "reason"], "value": unquoted(f.reason)} | some i, f in d.also]
}

unquoted(text) := split(text, " It would touch: ")[0]
