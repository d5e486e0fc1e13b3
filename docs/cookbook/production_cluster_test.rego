package holdgate.custom.production_cluster_test

import data.holdgate.custom.production_cluster

test_it_fires if {
	count(production_cluster.decisions) == 1 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "kubectl", "argv": ["kubectl", "apply"], "target": {"context": "eu-prod"}}]}}
}

test_it_passes_others if {
	count(production_cluster.decisions) == 0 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "kubectl", "argv": ["kubectl", "get"], "target": {"context": "staging"}}]}}
}
