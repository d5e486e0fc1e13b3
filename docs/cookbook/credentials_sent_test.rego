package holdgate.custom.credentials_sent_test

import data.holdgate.custom.credentials_sent

test_it_fires if {
	count(credentials_sent.decisions) == 1 with input as {"kind": "tool_call", "facts": {"secrets": [{"kind": "github_token", "pointer": "/command"}]}}
}

test_it_passes_others if {
	count(credentials_sent.decisions) == 0 with input as {"kind": "tool_call", "facts": {"secrets": []}}
}
