package holdgate.custom.privileged_test

import data.holdgate.custom.privileged

test_it_fires if {
	count(privileged.decisions) == 1 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "id", "argv": ["id"], "via": ["sudo"]}]}}
}

test_it_passes_others if {
	count(privileged.decisions) == 0 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "id", "argv": ["id"]}]}}
}
