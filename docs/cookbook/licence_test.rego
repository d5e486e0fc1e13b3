package holdgate.custom.licence_test

import data.holdgate.custom.licence

test_it_fires if {
	count(licence.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/LICENSE", "clean": "/srv/app/LICENSE", "access": "write"}]}}
}

test_it_passes_others if {
	count(licence.decisions) == 0 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/LICENSE", "clean": "/srv/app/LICENSE", "access": "read"}]}}
}
