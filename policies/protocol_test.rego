package holdgate_test

import data.holdgate

test_known_methods_pass if {
	holdgate.decision.action == "allow" with input as object.union(base, {"kind": "mcp_request", "tool": {"name": "tools/list"}})
}

test_unknown_methods_ask if {
	holdgate.decision.rule == "mcp.method" with input as object.union(base, {"kind": "mcp_request", "tool": {"name": "system/exec"}})
}

test_other_kinds if {
	holdgate.decision.action == "hold" with input as object.union(base, {"kind": "gate"})
	holdgate.decision.action == "allow" with input as object.union(base, {"kind": "message"})
	holdgate.decision.action == "deny" with input as object.union(base, {"kind": "telepathy"})
	holdgate.decision.action == "deny" with input as {}
}
