package holdgate.custom.blocked_hosts_test

import data.holdgate.custom.blocked_hosts

test_it_fires if {
	count(blocked_hosts.decisions) == 1 with input as {"kind": "tool_call", "facts": {"urls": [{"url": "https://a.example.net/x", "host": "a.example.net"}]}}
}

test_it_passes_others if {
	count(blocked_hosts.decisions) == 0 with input as {"kind": "tool_call", "facts": {"urls": [{"url": "https://example.org/", "host": "example.org"}]}}
}
