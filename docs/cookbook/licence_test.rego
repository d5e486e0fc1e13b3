package holdgate.custom.licence_test

import data.holdgate.custom.licence

test_it_fires if {
	count(licence.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/LICENSE", "clean": "/srv/app/LICENSE", "access": "write"}]}}
}

test_it_passes_others if {
	count(licence.decisions) == 0 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/LICENSE", "clean": "/srv/app/LICENSE", "access": "read"}]}}
}

test_it_fires_for_a_copy_into_a_folder if {
	count(licence.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/other/LICENSE", "clean": "/srv/other/LICENSE", "access": "read"}, {"path": "/srv/app", "clean": "/srv/app", "access": "write"}], "commands": [{"program": "cp", "argv": []}]}}
}

test_it_passes_a_reader if {
	count(licence.decisions) == 0 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/LICENSE", "clean": "/srv/app/LICENSE", "access": "read"}, {"path": "/tmp/out", "clean": "/tmp/out", "access": "write"}], "commands": [{"program": "cat", "argv": []}]}}
}
