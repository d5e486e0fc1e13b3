package holdgate.custom.deploys_test

import data.holdgate.custom.deploys

test_it_fires if {
	count(deploys.decisions) == 1 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "deployctl", "argv": ["deployctl", "up"]}]}}
}

test_it_passes_others if {
	count(deploys.decisions) == 0 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "ls", "argv": ["ls"]}]}}
}
