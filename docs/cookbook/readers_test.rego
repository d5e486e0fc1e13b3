package holdgate.custom.readers_test

import data.holdgate.custom.readers

test_it_fires if {
	count(readers.decisions) == 1 with input as {"kind": "tool_call", "tool": {"name": "Write", "category": "write"}, "agent": {"id": "auditor"}}
}

test_it_passes_others if {
	count(readers.decisions) == 0 with input as {"kind": "tool_call", "tool": {"name": "Read", "category": "read"}, "agent": {"id": "auditor"}}
}
