package holdgate.custom.changed_tools_test

import data.holdgate.custom.changed_tools

test_it_fires if {
	count(changed_tools.decisions) == 1 with input as {"kind": "tool_call", "tool": {"name": "x", "definition_changed": true}}
}

test_it_passes_others if {
	count(changed_tools.decisions) == 0 with input as {"kind": "tool_call", "tool": {"name": "x", "definition_changed": false}}
}
