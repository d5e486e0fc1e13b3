package holdgate.custom.unconfined_test

import data.holdgate.custom.unconfined

test_it_fires if {
	count(unconfined.decisions) == 1 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "ls", "argv": ["ls"]}]}, "confinement": {"level": "none"}}
}

test_it_passes_others if {
	count(unconfined.decisions) == 0 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "ls", "argv": ["ls"]}]}, "confinement": {"level": "strong"}}
}
