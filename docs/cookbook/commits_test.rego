package holdgate.custom.commits_test

import data.holdgate.custom.commits

test_it_fires if {
	count(commits.decisions) == 1 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "git", "argv": ["git", "commit", "-m", "x"]}]}}
}

test_it_passes_others if {
	count(commits.decisions) == 0 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "git", "argv": ["git", "log"]}]}}
}
