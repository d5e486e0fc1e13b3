package holdgate.custom.loops_test

import data.holdgate.custom.loops

test_it_fires if {
	count(loops.decisions) == 1 with input as {"kind": "tool_call", "session": {"repeats": 8}}
}

test_it_passes_others if {
	count(loops.decisions) == 0 with input as {"kind": "tool_call", "session": {"repeats": 1}}
}
