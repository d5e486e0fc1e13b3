package holdgate.custom.protected_branch_test

import data.holdgate.custom.protected_branch

test_it_fires if {
	count(protected_branch.decisions) == 1 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "git", "argv": ["git", "push", "--force", "origin", "main"]}]}}
}

test_it_passes_others if {
	count(protected_branch.decisions) == 0 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "git", "argv": ["git", "push", "--force", "origin", "topic"]}]}}
}
