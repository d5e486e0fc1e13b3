package holdgate.custom.lockfiles_test

import data.holdgate.custom.lockfiles

test_it_fires if {
	count(lockfiles.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/go.sum", "clean": "/srv/app/go.sum", "access": "write"}]}}
}

test_it_passes_others if {
	count(lockfiles.decisions) == 0 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/go.mod", "clean": "/srv/app/go.mod", "access": "write"}]}}
}

test_it_fires_for_a_copy_into_a_folder if {
	count(lockfiles.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/other/go.sum", "clean": "/srv/other/go.sum", "access": "read"}, {"path": "/srv/app", "clean": "/srv/app", "access": "write"}], "commands": [{"program": "cp", "argv": []}]}}
}

test_it_passes_a_reader if {
	count(lockfiles.decisions) == 0 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/go.sum", "clean": "/srv/app/go.sum", "access": "read"}, {"path": "/tmp/out", "clean": "/tmp/out", "access": "write"}], "commands": [{"program": "cat", "argv": []}]}}
}
