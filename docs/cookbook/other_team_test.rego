package holdgate.custom.other_team_test

import data.holdgate.custom.other_team

test_it_fires if {
	count(other_team.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/payments/x", "clean": "/srv/payments/x", "access": "write"}]}, "agent": {"labels": {"team": "web"}}}
}

test_it_passes_others if {
	count(other_team.decisions) == 0 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/payments/x", "clean": "/srv/payments/x", "access": "write"}]}, "agent": {"labels": {"team": "payments"}}}
}
