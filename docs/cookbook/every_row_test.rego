package holdgate.custom.every_row_test

import data.holdgate.custom.every_row

test_it_fires if {
	count(every_row.decisions) == 1 with input as {"kind": "tool_call", "facts": {"sql": [{"verb": "delete", "tables": ["users"], "where": false}]}}
}

test_it_passes_others if {
	count(every_row.decisions) == 0 with input as {"kind": "tool_call", "facts": {"sql": [{"verb": "delete", "tables": ["users"], "where": true}]}}
}
