package holdgate.custom.two_questions_test

import data.holdgate.custom.two_questions

test_it_fires if {
	count(two_questions.decisions) == 2 with input as {"kind": "tool_call", "tool": {"name": "rotate_keys"}}
}

test_it_passes_others if {
	count(two_questions.decisions) == 0 with input as {"kind": "tool_call", "tool": {"name": "list_keys"}}
}
