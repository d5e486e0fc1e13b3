package holdgate_test

import data.holdgate

sure_of(score) := object.union(shell([["ls"]]), {"confidence": {"score": score}})

test_bands if {
	holdgate.decision.action == "allow" with input as sure_of(0.8)
	holdgate.decision.rule == "confidence.medium" with input as sure_of(0.5)
	holdgate.decision.rule == "confidence.low" with input as sure_of(0.2)
	holdgate.decision.rule == "confidence.none" with input as sure_of(0.1)
}

test_the_middle_band_goes_on_by_itself if {
	decision := holdgate.decision with input as sure_of(0.6)
	decision.hold.timeout == "10s"
	decision.hold.on_timeout == "approve"
	decision.risk == "low"
}

test_a_sure_agent_is_asked_all_the_same if {
	holdgate.decision.rule == "files.delete" with input as object.union(shell([["rm", "x"]]), {"confidence": {"score": 1}})
}

test_manual_asks_about_everything if {
	holdgate.decision.rule == "mode.manual" with input as object.union(shell([["ls"]]), {"session": {"mode": "manual"}})
}

test_a_threshold if {
	mode := {"session": {"mode": "confidence_threshold"}}
	holdgate.decision.action == "allow" with input as object.union(sure_of(0.8), mode)
	holdgate.decision.rule == "confidence.threshold" with input as object.union(sure_of(0.79), mode)
	holdgate.decision.rule == "confidence.threshold" with input as object.union(shell([["ls"]]), mode)
}

test_the_session_has_a_threshold_of_its_own if {
	mode := {"session": {"mode": "confidence_threshold", "confidence_threshold": 0.95}}
	holdgate.decision.rule == "confidence.threshold" with input as object.union(sure_of(0.9), mode)
	holdgate.decision.action == "allow" with input as object.union(sure_of(0.95), mode)
}

test_a_mode_that_is_not_known_asks if {
	holdgate.decision.rule == "mode.unknown" with input as object.union(shell([["ls"]]), {"session": {"mode": "yolo"}})
}

test_a_session_without_a_mode_is_in_mode_auto if {
	holdgate.decision.action == "allow" with input as json.remove(shell([["ls"]]), ["/session/mode"])
}

test_the_agents_reasons_are_no_words_of_policy if {
	call := object.union(shell([["ls"]]), {"confidence": {"score": 0.1, "reasons": ["two tests fail"]}})
	decision := holdgate.decision with input as call
	decision.rule == "confidence.none"
	not contains(decision.reason, "two tests fail")
	report := object.union(call, {"kind": "gate", "gate": {"type": "confidence_threshold"}})
	asked := holdgate.decision with input as report
	asked.rule == "confidence.none"
	not contains(asked.hold.message, "two tests fail")
}

by_agent(score) := object.union(sure_of(score), {"confidence": {"source": "agent"}})

test_silence_does_not_approve_on_the_agents_own_word if {
	decision := holdgate.decision with input as by_agent(0.6)
	decision.rule == "confidence.medium"
	not decision.hold.on_timeout
}

test_silence_approves_on_the_word_of_a_trusted_agent if {
	trusted := object.union(by_agent(0.6), {"agent": {"id": "ci", "proven": true}})
	decision := holdgate.decision with input as trusted with data.settings.confidence.trusted as ["ci"]
	decision.hold.on_timeout == "approve"
}

tools_ended(succeeded, failed) := object.union(sure_of(0.95), {"confidence": {"tools": {"succeeded": succeeded, "failed": failed}}})

test_tools_that_fail_weigh_against_the_report if {
	holdgate.decision.action == "allow" with input as tools_ended(16, 4)
	holdgate.decision.rule == "confidence.medium" with input as tools_ended(15, 5)
	holdgate.decision.rule == "confidence.none" with input as tools_ended(0, 5)
}

test_tools_that_succeed_make_nobody_surer if {
	holdgate.decision.rule == "confidence.low" with input as object.union(tools_ended(20, 0), {"confidence": {"score": 0.3}})
}

test_a_few_results_say_nothing if {
	holdgate.decision.action == "allow" with input as tools_ended(0, 4)
	holdgate.decision.action == "allow" with input as tools_ended(0, 20) with data.settings.confidence.least_results as 0
}

test_results_count_beside_what_else_is_known if {
	call := object.union(tools_ended(0, 20), {"confidence": {"work": {"verification": {"tier": 1, "checks": [{"passed": true}]}}}})
	holdgate.decision.rule == "confidence.medium" with input as call
}

# Reports of an agent, and what Holdgate has seen of its tools.
seen_tools(score, agent) := object.union(by_agent(score), {"confidence": {"tools": {"succeeded": 9, "failed": 1}}, "agent": agent})

strongly := {"id": "default", "confinement": "strong"}

test_silence_approves_where_the_tools_bear_an_agent_out_that_is_strongly_confined if {
	decision := holdgate.decision with input as seen_tools(0.6, strongly)
	decision.rule == "confidence.medium"
	decision.hold.on_timeout == "approve"
	weakly := holdgate.decision with input as seen_tools(0.6, {"id": "default", "confinement": "weak"})
	not weakly.hold.on_timeout
	alone := holdgate.decision with input as object.union(by_agent(0.6), {"agent": strongly})
	not alone.hold.on_timeout
}

report_gate(score, agent, settings) := object.union(seen_tools(score, agent), {
	"kind": "gate",
	"gate": {"type": "confidence_threshold", "settings": object.union({"level": "conditional", "threshold": 0.9, "on_timeout": "deny"}, settings)},
})

test_the_gate_of_a_report_has_the_window_of_the_calls if {
	every score in [0.5, 0.85] {
		decision := holdgate.decision with input as report_gate(score, strongly, {})
		decision.rule == "gate"
		decision.hold.on_timeout == "approve"
		decision.hold.timeout == "10s"
	}
}

test_the_gate_of_a_report_waits_for_a_person if {
	every gate in [
		report_gate(0.45, strongly, {}),
		report_gate(0.6, {"id": "default", "confinement": "weak"}, {}),
		report_gate(0.6, strongly, {"timeout": 60}),
		report_gate(0.6, strongly, {"required": true}),
		report_gate(0.6, strongly, {"level": "mandatory"}),
	] {
		decision := holdgate.decision with input as gate
		decision.rule == "gate"
		decision.hold.on_timeout == "deny"
	}
}

test_calls_wait_for_the_gate_of_their_report if {
	needed := {"session": {"mode": "auto", "gates_needed": ["confidence_threshold"]}}
	every score in [0.6, 0.3] {
		decision := holdgate.decision with input as object.union(seen_tools(score, strongly), needed)
		decision.hold.gate == "confidence_threshold"
		decision.hold.passes == true
		not decision.hold.on_timeout
	}
}

test_a_report_that_was_let_pass_is_shown_once if {
	passed := {"session": {"mode": "auto", "gates_passed": ["confidence_threshold"]}}
	holdgate.decision.action == "allow" with input as object.union(seen_tools(0.6, strongly), passed)
	holdgate.decision.rule == "confidence.low" with input as object.union(seen_tools(0.3, strongly), passed)
}

test_what_counts_stands_beside_what_is_reported if {
	call := object.union(tools_ended(12, 8), {"confidence": {"work": {"retries": {"count": 1, "max": 2}}}})
	decision := holdgate.decision with input as call
	decision.reason == "The agent is not quite sure of this. By what is known of its work the confidence is 0.53; it reports 0.95."
	alone := holdgate.decision with input as sure_of(0.6)
	alone.reason == "The agent is not quite sure of this. It reports a confidence of 0.6."
}

test_a_gate_of_confidence_without_a_report_says_so if {
	call := {"kind": "gate", "gate": {"type": "confidence_threshold", "settings": {"level": "conditional"}}}
	decision := holdgate.decision with input as call
	endswith(decision.reason, "It has not said how sure it is.")
}
