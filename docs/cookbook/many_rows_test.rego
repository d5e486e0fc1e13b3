package holdgate.custom.many_rows_test

import data.holdgate.custom.many_rows

test_it_fires if {
	count(many_rows.decisions) == 1 with input as {"kind": "tool_call", "facts": {"impact": {"rows": 5000}}}
}

test_it_passes_others if {
	count(many_rows.decisions) == 0 with input as {"kind": "tool_call", "facts": {"impact": {"rows": 10}}}
}
