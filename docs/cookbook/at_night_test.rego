package holdgate.custom.at_night_test

import data.holdgate.custom.at_night

test_it_fires if {
	count(at_night.decisions) == 1 with input as {"kind": "tool_call", "time": "2026-11-26T03:00:00Z", "facts": {"effects": [{"kind": "write"}]}}
}

test_it_passes_others if {
	count(at_night.decisions) == 0 with input as {"kind": "tool_call", "time": "2026-11-26T10:00:00Z", "facts": {"effects": [{"kind": "write"}]}}
}
