package holdgate.custom.workflows_test

import data.holdgate.custom.workflows

test_it_fires if {
	count(workflows.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/.github/workflows/x.yml", "clean": "/srv/app/.github/workflows/x.yml", "access": "write"}]}}
}

test_it_passes_others if {
	count(workflows.decisions) == 0 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/main.go", "clean": "/srv/app/main.go", "access": "write"}]}}
}

test_it_fires_for_the_folder if {
	count(workflows.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/.github/workflows", "clean": "/srv/app/.github/workflows", "access": "write"}]}}
}

test_it_fires_for_the_folder_above if {
	count(workflows.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/.github", "clean": "/srv/app/.github", "access": "delete"}]}}
}
