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

test_what_servers_ask_passes_but_for_a_setting if {
	sampling := object.union(mcp_request("sampling/createMessage"), {"mcp": {"from_server": true}})
	answer := object.union(mcp_request("sampling/createMessage"), {"mcp": {"answer": true}})
	every call in [sampling, answer, object.union(sampling, {"mcp": {"method": "acme/search"}}), object.union(answer, {"mcp": {"method": ""}})] {
		holdgate.decision.action == "allow" with input as call
	}
	every call in [sampling, answer] {
		holdgate.decision.rule == "mcp.method" with input as call with data.settings.mcp.from_servers as {"sampling/createMessage": "ask"}
		holdgate.decision.action == "deny" with input as call with data.settings.mcp.from_servers as {"sampling/createMessage": "deny"}
	}

	# A client that asks a server to sample does what no revision knows.
	holdgate.decision.rule == "mcp.method" with input as mcp_request("sampling/createMessage")
}

test_sessions_and_streams_pass if {
	every method in ["GET", "DELETE", "subscriptions/listen", "tasks/update"] {
		holdgate.decision.action == "allow" with input as mcp_request(method)
	}
}

test_other_kinds if {
	holdgate.decision.action == "hold" with input as object.union(base, {"kind": "gate"})
	holdgate.decision.action == "allow" with input as object.union(base, {"kind": "message"})
	holdgate.decision.action == "deny" with input as object.union(base, {"kind": "telepathy"})
	holdgate.decision.action == "deny" with input as {}
}
