package holdgate_test

import data.holdgate

http_request(host) := object.union(base, {"kind": "http_request", "http": {"method": "GET", "scheme": "https", "host": host, "path": "/"}})

test_hosts_pass if {
	holdgate.decision.action == "allow" with input as http_request("example.com")
}

test_hosts_by_setting if {
	holdgate.decision.action == "deny" with input as http_request("example.com")
		with data.settings.http.hosts as {"example.com": "deny"}
	holdgate.decision.action == "hold" with input as http_request("example.com") with data.settings.http.default as "ask"
}

test_credentials_that_leave_ask_and_are_redacted if {
	facts := {"secrets": [{"kind": "private_key", "pointer": "/body"}], "impact": {}}
	decision := holdgate.decision with input as tool_call({"name": "send", "category": "message"}, facts)
	decision.rule == "secrets.sent"
	decision.redact == ["/tool/arguments/body"]
}

test_the_approvers_door_is_refused if {
	facts := {"urls": [{"url": "http://127.0.0.1:7301/v1/approvals", "host": "127.0.0.1"}], "impact": {}}
	holdgate.decision.rule == "self_approval" with input as tool_call({"name": "WebFetch", "category": "network"}, facts)
}
