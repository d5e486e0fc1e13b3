package holdgate.custom.payments_table_test

import data.holdgate.custom.payments_table

test_it_fires if {
	count(payments_table.decisions) == 1 with input as {"kind": "tool_call", "facts": {"sql": [{"verb": "update", "tables": ["payments"], "where": true}]}}
}

test_it_passes_others if {
	count(payments_table.decisions) == 0 with input as {"kind": "tool_call", "facts": {"sql": [{"verb": "select", "tables": ["payments"], "where": true}]}}
}
