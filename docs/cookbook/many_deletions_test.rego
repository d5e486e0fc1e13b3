package holdgate.custom.many_deletions_test

import data.holdgate.custom.many_deletions

test_it_fires if {
	count(many_deletions.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/a", "clean": "/srv/a", "access": "delete"}], "impact": {"paths": 80}}}
}

test_it_passes_others if {
	count(many_deletions.decisions) == 0 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/a", "clean": "/srv/a", "access": "delete"}], "impact": {"paths": 2}}}
}
