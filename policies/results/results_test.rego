package holdgate_test

import data.holdgate

# A result of a call that is asked about by itself.
brought(result) := object.union(
	tool_call({"name": "Bash", "server": "files", "category": "exec"}, {"category": "exec", "commands": [{"program": "rm", "argv": ["rm", "x"]}]}),
	{"result": object.union({"text": "done", "size": 40, "is_error": false}, result)},
)

secret := {"secrets": [{"kind": "aws_access_key", "pointer": "/content/0/text"}]}

test_results_pass_and_the_call_is_not_asked_about_again if {
	holdgate.result.action == "allow" with input as brought({})
	holdgate.result.action == "allow" with input as brought(secret)
	holdgate.decision.action == "hold" with input as brought({})
}

test_secrets_in_results_are_redacted if {
	d := holdgate.result with input as brought(secret) with data.settings.results as {"secrets": "redact"}
	d.action == "allow"
	d.redact == ["/result/secrets"]
	plain := holdgate.result with input as brought({}) with data.settings.results as {"secrets": "redact"}
	not plain.redact
}

test_secrets_in_results_are_asked_about if {
	d := holdgate.result with input as brought(secret) with data.settings.results as {"secrets": "ask"}
	d.action == "hold"
	d.rule == "results.secrets"
	d.hold.message == "The result holds credentials, which the agent would see. It would touch: aws_access_key"
	answered := object.union(brought(secret), {"answers": [{"gate": "", "rule": "results.secrets", "decision": "approve", "by": "ann"}]})
	holdgate.result.action == "allow" with input as answered with data.settings.results as {"secrets": "ask"}
}

test_secrets_in_results_are_refused if {
	d := holdgate.result with input as brought(secret) with data.settings.results as {"secrets": "deny"}
	d.action == "deny"
	d.rule == "results.secrets"
}

test_what_could_not_be_searched_is_asked_about if {
	d := holdgate.result with input as brought({"unread": true}) with data.settings.results as {"secrets": "redact"}
	d.rule == "results.unread"
	holdgate.result.action == "allow" with input as brought({"unread": true}) with data.settings.results as {"ask_over": 100}
}

test_large_results_are_asked_about if {
	d := holdgate.result with input as brought({"size": 101}) with data.settings.results as {"ask_over": 100}
	d.rule == "results.size"
	contains(d.hold.message, "101 bytes of files/Bash")
	holdgate.result.action == "allow" with input as brought({"size": 100}) with data.settings.results as {"ask_over": 100}
	resource := object.union(base, {
		"kind": "mcp_request",
		"mcp": {"server": "files", "method": "resources/read", "name": "file:///x"},
		"facts": {"category": "unknown"},
		"result": {"text": "", "size": 101, "is_error": false},
	})
	e := holdgate.result with input as resource with data.settings.results as {"ask_over": 100}
	contains(e.hold.message, "101 bytes of files resources/read file:///x")
}

test_the_strictest_wins_for_results_too if {
	d := holdgate.result with input as brought(object.union(secret, {"size": 101}))
		with data.settings.results as {"secrets": "redact", "ask_over": 100}
	d.action == "hold"
	d.redact == ["/result/secrets"]
}

test_packages_of_the_user_say_something_of_results if {
	d := holdgate.result with input as brought({})
		with data.holdgate.custom as {"team": {"results": {{"action": "deny", "rule": "team.no"}}}}
	d.rule == "team.no"
	e := holdgate.result with input as brought({})
		with data.holdgate.custom as {"team": {"result": {"action": "hold", "rule": "team.ask"}}}
	e.rule == "team.ask"
	f := holdgate.result with input as brought({})
		with data.holdgate.custom as {"results": {{"action": "deny", "rule": "all.no"}}}
	f.rule == "all.no"
	g := holdgate.result with input as brought({})
		with data.holdgate.custom as {"result": {"action": "deny", "rule": "all.one"}}
	g.rule == "all.one"
}
