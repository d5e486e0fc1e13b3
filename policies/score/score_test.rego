package holdgate.score_test

import data.holdgate.score

near(a, b) if abs(a - b) < 0.0000001

test_work_without_a_blemish_scores_one if {
	near(1, score.of({
		"verification": {"tier": 2, "checks": [{"passed": true}, {"passed": true}], "confidence": 1},
		"retries": {"count": 0, "max": 3},
		"destructive": false,
		"tools": [{"success": true}],
	}))
}

test_tools_may_be_counted if {
	near(0.9, score.of({"tools": {"succeeded": 18, "failed": 2}}))
	near((0.3 + 0.05) / 0.4, score.of({"verification": {"tier": 1, "checks": [{"passed": true}]}, "tools": {"succeeded": 1, "failed": 1}}))
	score.of({"tools": {"succeeded": 0, "failed": 0}}) == 0
}

test_parts_have_their_weights if {
	work := {
		"verification": {"tier": 2, "checks": [{"passed": true}, {"passed": false}], "confidence": 0.9},
		"retries": {"count": 1, "max": 4},
		"destructive": true,
		"tools": [{"success": true}, {"success": false}, {"success": false}, {"success": false}],
	}
	near((((0.15 + 0.27) + 0.15) + 0) + 0.025, score.of(work))
}

test_what_is_not_known_has_no_weight if {
	near(0.5, score.of({"verification": {"tier": 1, "checks": [{"passed": true}, {"passed": false}], "confidence": 0.1}}))
	near(0.8, score.of({"verification": {"tier": 0, "confidence": 0.1}, "retries": {"count": 1, "max": 5}, "tools": []}))
	near((0.2 + 0) / 0.3, score.of({"retries": {"count": 0, "max": 5}, "destructive": true}))
}

test_a_verification_without_checks_scores_nothing_for_them if {
	near(0, score.of({"verification": {"tier": 1}}))
}

test_what_says_nothing_scores_nothing if {
	score.of({}) == 0
	score.of({"verification": {"tier": 2, "confidence": "high"}, "destructive": "no", "retries": {"count": 1, "max": 0}}) == 0
}

test_values_out_of_range_are_cut if {
	near(0.5, score.of({"verification": {"tier": 2, "checks": [], "confidence": 7}}))
	near(0, score.of({"retries": {"count": 9, "max": 3}}))
}
