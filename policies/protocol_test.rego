package holdgate_test

import data.holdgate

mcp_request(method) := object.union(base, {"kind": "mcp_request", "mcp": {"server": "files", "method": method}})

test_known_methods_pass if {
	every method in ["initialize", "ping", "tools/list", "resources/read", "prompts/get", "notifications/progress", "logging/setLevel"] {
		holdgate.decision.action == "allow" with input as mcp_request(method)
	}
}

test_unknown_methods_ask if {
	holdgate.decision.rule == "mcp.method" with input as mcp_request("system/exec")
	holdgate.decision.rule == "mcp.method" with input as mcp_request("")
	holdgate.decision.rule == "mcp.method" with input as object.union(base, {"kind": "mcp_request"})
}

test_methods_by_setting if {
	settings := {"resources/read": "deny"}
	decision := holdgate.decision with input as object.union(mcp_request("resources/read"), {"mcp": {"name": "file:///x"}})
		with data.settings.mcp.methods as settings
	decision.action == "deny"
	contains(decision.reason, "files resources/read file:///x")
}

test_other_kinds if {
	holdgate.decision.action == "hold" with input as object.union(base, {"kind": "gate"})
	holdgate.decision.action == "allow" with input as object.union(base, {"kind": "message"})
	holdgate.decision.action == "deny" with input as object.union(base, {"kind": "telepathy"})
	holdgate.decision.action == "deny" with input as {}
}
