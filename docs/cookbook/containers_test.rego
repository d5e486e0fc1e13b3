package holdgate.custom.containers_test

import data.holdgate.custom.containers

test_it_fires if {
	count(containers.decisions) == 1 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "docker", "argv": ["docker", "run", "x"]}]}}
}

test_it_passes_others if {
	count(containers.decisions) == 0 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "docker", "argv": ["docker", "ps"]}]}}
}
