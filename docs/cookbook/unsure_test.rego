package holdgate.custom.unsure_test

import data.holdgate.custom.unsure

test_it_fires if {
	count(unsure.decisions) == 1 with input as {"kind": "tool_call", "confidence": {"score": 0.3}, "facts": {"effects": [{"kind": "write"}]}}
}

test_it_passes_others if {
	count(unsure.decisions) == 0 with input as {"kind": "tool_call", "confidence": {"score": 0.9}, "facts": {"effects": [{"kind": "write"}]}}
}
