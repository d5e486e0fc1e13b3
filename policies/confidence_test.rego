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

test_giving_up_shows_the_reasons if {
	call := object.union(shell([["ls"]]), {"confidence": {"score": 0.1, "reasons": ["two tests fail"]}})
	decision := holdgate.decision with input as call
	contains(decision.reason, "two tests fail")
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
