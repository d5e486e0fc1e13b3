package holdgate.custom.package_registry_test

import data.holdgate.custom.package_registry

test_it_fires if {
	count(package_registry.decisions) == 1 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "pip", "argv": ["pip", "install", "x"]}]}}
}

test_it_passes_others if {
	count(package_registry.decisions) == 0 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "pip", "argv": ["pip", "install", "-i", "https://registry.internal/simple", "x"]}]}}
}
