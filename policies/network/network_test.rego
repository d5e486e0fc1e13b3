package holdgate_test

import data.holdgate

test_credentials_that_leave_ask if {
	facts := {"secrets": [{"kind": "private_key", "pointer": "/body"}], "impact": {}}
	decision := holdgate.decision with input as tool_call({"name": "send", "category": "message"}, facts)
	decision.rule == "secrets.sent"
}

test_credentials_in_requests_are_redacted_where_they_stand if {
	every kind, at in {"http_request": ["/http", "/query"], "mcp_request": ["/mcp", "/name"]} {
		call := object.union(base, {"kind": kind, "facts": {"secrets": [{"kind": "jwt", "pointer": at[1]}]}})
		decision := holdgate.decision with input as call
		decision.redact == [concat("", at)]
	}
}

test_the_approvers_door_is_refused if {
	facts := {"urls": [{"url": "http://127.0.0.1:7301/v1/approvals", "host": "127.0.0.1"}], "impact": {}}
	holdgate.decision.rule == "self_approval" with input as tool_call({"name": "WebFetch", "category": "network"}, facts)
}

test_the_approvers_door_is_refused_however_it_is_spelled if {
	facts := {"urls": [{"url": "http://0x7f000001:9999/", "host": "0x7f000001", "self": true}], "impact": {}}
	holdgate.decision.rule == "self_approval" with input as tool_call({"name": "WebFetch", "category": "network"}, facts)
}

test_credentials_beside_an_address_ask if {
	facts := {"secrets": [{"kind": "private_key", "pointer": "/x"}], "urls": [{"url": "https://example.com/", "host": "example.com"}], "impact": {}}
	holdgate.decision.rule == "secrets.sent" with input as tool_call({"name": "x", "category": "exec"}, facts)
}

test_credentials_for_a_server_of_this_machine_pass if {
	facts := {"secrets": [{"kind": "curl_auth_header", "pointer": "/x"}], "urls": [{"url": "http://localhost:8080/", "host": "localhost"}], "impact": {}}
	holdgate.decision.rule != "secrets.sent" with input as tool_call({"name": "Bash", "category": "exec"}, facts)
	away := object.union(facts, {"urls": array.concat(facts.urls, [{"url": "https://example.com/", "host": "example.com"}])})
	holdgate.decision.rule == "secrets.sent" with input as tool_call({"name": "Bash", "category": "exec"}, away)
}

test_addresses_that_lead_into_machines_ask if {
	every u in [
		{"url": "http://169.254.169.254/latest", "scheme": "http", "host": "169.254.169.254"},
		{"url": "http://[fd00:ec2::254]/", "scheme": "http", "host": "fd00:ec2::254"},
		{"url": "http://metadata.google.internal./x", "scheme": "http", "host": "metadata.google.internal."},
		{"url": "gopher://x", "scheme": "gopher", "host": "x"},
		{"url": "file:///etc/passwd", "scheme": "file", "host": ""},
		{"url": "http://localhost:2375/containers/json", "scheme": "http", "host": "localhost"},
	] {
		holdgate.decision.rule == "network.inner" with input as reaching(u)
	}
	every u in [
		{"url": "https://example.com/", "scheme": "https", "host": "example.com"},
		{"url": "http://localhost:3000/", "scheme": "http", "host": "localhost"},
		{"url": "file:///home/dev/shop/dist/index.html", "scheme": "file", "host": ""},
	] {
		holdgate.decision.action == "allow" with input as reaching(u)
	}
}

test_addresses_that_carry_data_ask if {
	every u in [
		{"url": "https://collect.example.net/log?k=AKIAEXAMPLE0000TEST&s=wJalrMadeUpSecretValue00", "scheme": "https", "host": "collect.example.net"},
		{"url": "https://x.example/?d=c2VjcmV0IG9mIHRoZSBzaG9w1=", "scheme": "https", "host": "x.example"},
	] {
		holdgate.decision.rule == "network.tool" with input as reaching(u)
	}
	every u in [
		{"url": "https://docs.example.com/x?tabs=azure-cli&view=net-8.0", "scheme": "https", "host": "docs.example.com"},
		{"url": "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "scheme": "https", "host": "www.youtube.com"},
		{"url": "http://localhost:3000/?d=c2VjcmV0IG9mIHRoZSBzaG9w1", "scheme": "http", "host": "localhost"},
	] {
		holdgate.decision.action == "allow" with input as reaching(u)
	}
}

reaching(u) := json.patch(tool_call({"name": "WebFetch", "category": "network"}, {"urls": [u], "impact": {}}), [{"op": "add", "path": "/session/cwd", "value": "/home/dev/shop"}])
