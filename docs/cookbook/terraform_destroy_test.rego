package holdgate.custom.terraform_destroy_test

import data.holdgate.custom.terraform_destroy

test_it_fires if {
	count(terraform_destroy.decisions) == 1 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "terraform", "argv": ["terraform", "destroy"]}]}}
}

test_it_passes_others if {
	count(terraform_destroy.decisions) == 0 with input as {"kind": "tool_call", "facts": {"commands": [{"program": "terraform", "argv": ["terraform", "plan"]}]}}
}
