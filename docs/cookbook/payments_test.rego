package holdgate.custom.payments_test

import data.holdgate.custom.payments

test_it_fires if {
	count(payments.decisions) == 1 with input as {"kind": "tool_call", "facts": {"impact": {"amount": 250, "currency": "EUR"}}}
}

test_it_passes_others if {
	count(payments.decisions) == 0 with input as {"kind": "tool_call", "facts": {"impact": {"amount": 20, "currency": "EUR"}}}
}
