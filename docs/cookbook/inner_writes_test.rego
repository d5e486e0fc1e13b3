package holdgate.custom.inner_writes_test

import data.holdgate.custom.inner_writes

test_it_fires if {
	count(inner_writes.decisions) == 1 with input as {"kind": "http_request", "http": {"host": "crm.internal", "method": "POST"}}
}

test_it_passes_others if {
	count(inner_writes.decisions) == 0 with input as {"kind": "http_request", "http": {"host": "crm.internal", "method": "GET"}}
}
