package holdgate.custom.other_team_test

import data.holdgate.custom.other_team

test_it_fires if {
	count(other_team.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/payments/x", "clean": "/srv/payments/x", "access": "write"}]}, "agent": {"labels": {"team": "web"}}}
}

test_it_passes_others if {
	count(other_team.decisions) == 0 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/payments/x", "clean": "/srv/payments/x", "access": "write"}]}, "agent": {"labels": {"team": "payments"}}}
}

test_it_fires_for_the_folder if {
	count(other_team.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/payments", "clean": "/srv/payments", "access": "delete"}]}}
}

test_it_fires_for_a_folder_above if {
	count(other_team.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv", "clean": "/srv", "access": "delete"}]}}
}

test_it_passes_a_name_that_is_longer if {
	count(other_team.decisions) == 0 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/payments-old", "clean": "/srv/payments-old", "access": "delete"}]}}
}
