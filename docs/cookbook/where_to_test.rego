package holdgate.custom.where_to_test

import data.holdgate.custom.where_to

test_it_fires if {
	count(where_to.decisions) == 1 with input as {"kind": "tool_call", "tool": {"name": "release"}}
}

test_it_passes_others if {
	count(where_to.decisions) == 0 with input as {"kind": "tool_call", "tool": {"name": "build"}}
}
