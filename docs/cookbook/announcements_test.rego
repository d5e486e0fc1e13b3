package holdgate.custom.announcements_test

import data.holdgate.custom.announcements

test_it_fires if {
	count(announcements.decisions) == 1 with input as {"kind": "tool_call", "tool": {"name": "slack_post_message", "arguments": {"channel": "#general"}}}
}

test_it_passes_others if {
	count(announcements.decisions) == 0 with input as {"kind": "tool_call", "tool": {"name": "slack_post_message", "arguments": {"channel": "#team"}}}
}
