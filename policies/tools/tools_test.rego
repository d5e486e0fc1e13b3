package holdgate_test

import data.holdgate

tool(name, category) := tool_call({"name": name, "category": category}, {"category": category, "impact": {}})

of_server(server, name) := tool_call({"server": server, "name": name, "category": "unknown"}, {"impact": {}})

test_categories if {
	expected := {
		"read": "default",
		"spawn": "default",
		"unknown": "tools.unknown",
		"telepathy": "tools.unknown",
		"network": "network.tool",
		"message": "tools.message",
		"delete": "files.delete",
		"exec": "shell.unknown",
		"write": "files.unknown",
	}
	every category, rule in expected {
		holdgate.decision.rule == rule with input as tool("x", category)
	}
}

test_a_tool_without_a_category_asks if {
	holdgate.decision.rule == "tools.unknown" with input as tool_call({"name": "x"}, {"impact": {}})
}

test_known_hosts_pass if {
	call := tool_call({"name": "x", "category": "network"}, {"urls": [{"url": "http://localhost:3000/", "host": "localhost"}]})
	holdgate.decision.action == "allow" with input as call
}

test_settings_by_name if {
	settings := {"s/t": "deny", "s/*": "ask", "*/u": "auto"}

	holdgate.decision.action == "deny" with input as of_server("s", "t") with data.settings.tools as settings
	holdgate.decision.action == "hold" with input as of_server("s", "u") with data.settings.tools as settings
	holdgate.decision.action == "allow" with input as of_server("r", "u") with data.settings.tools as settings
	holdgate.decision.rule == "tools.unknown" with input as of_server("r", "v") with data.settings.tools as settings
	holdgate.decision.action == "deny" with input as tool("mcp__s__t", "unknown") with data.settings.tools as settings
	holdgate.decision.action == "hold" with input as tool("mcp__s__v", "unknown") with data.settings.tools as settings
}

test_a_slip_in_a_setting_refuses if {
	holdgate.decision.action == "deny" with input as tool("x", "read") with data.settings.tools as {"x": "aks"}
}

test_unreadable_arguments_ask if {
	call := tool_call({"name": "x", "category": "read"}, {"parse_errors": ["arguments are no JSON object"]})
	holdgate.decision.rule == "tools.unreadable" with input as call
}

test_misleading_files_ask if {
	call := tool_call({"name": "Bash", "category": "exec"}, {"parse_errors": ["a file is named like an option, or like several words: /w/-rf"]})
	rules := {d.rule | some d in holdgate.decisions} with input as call
	"files.misleading" in rules
	not "tools.unreadable" in rules
	number := tool_call({"name": "Bash", "category": "exec"}, {"parse_errors": ["/w/x.pid is to hold the number of a process, and not of one that the call starts"]})
	"files.misleading" in {d.rule | some d in holdgate.decisions} with input as number
}

test_deceiving_text_asks_where_something_runs if {
	facts := {"suspicious_text": ["bidi"], "commands": [{"program": "ls", "argv": ["ls"]}], "impact": {}}
	holdgate.decision.rule == "text.suspicious" with input as tool_call({"name": "Bash", "category": "exec"}, facts)
	holdgate.decision.action == "allow" with input as tool_call({"name": "Read", "category": "read"}, facts)
}

test_the_strict_profile_asks_about_all_but_reading if {
	every category in ["exec", "write", "delete", "network", "spawn", "database", "message", "unknown"] {
		decision := holdgate.decision with input as tool("x", category) with data.settings.profile as "strict"
		decision.action == "hold"
		"profile.strict" in ({decision.rule} | {f.rule | some f in object.get(decision, "also", [])})
	}
	holdgate.decision.action == "allow" with input as tool("x", "read") with data.settings.profile as "strict"
	holdgate.decision.rule == "profile.strict" with input as shell([["ls"]]) with data.settings.profile as "strict"
	holdgate.decision.action == "allow" with input as shell([["ls"]])
		with data.settings.profile as "strict"
		with data.settings.tools.Bash as "auto"
}

test_a_profile_that_is_not_known_refuses if {
	holdgate.decision.action == "deny" with input as shell([["ls"]]) with data.settings.profile as "relaxed"
}

test_settings_by_category if {
	holdgate.decision.rule == "tools.setting" with input as shell([["ls"]]) with data.settings.categories as {"exec": "ask"}
	holdgate.decision.action == "deny" with input as tool("x", "message") with data.settings.categories.message as "deny"
	holdgate.decision.action == "allow" with input as tool("x", "read") with data.settings.categories.exec as "deny"
	holdgate.decision.action == "allow" with input as tool("x", "message")
		with data.settings.categories.message as "deny"
		with data.settings.tools.x as "auto"
}

test_an_agent_gains_only_what_it_has_proven if {
	agents := {"default": {"tools": {"x": "auto", "y": "deny"}}, "other": {"tools": {"*": "deny"}}}
	call := tool("x", "message")
	holdgate.decision.action == "hold" with input as call with data.settings.agents as agents
	holdgate.decision.action == "allow" with input as object.union(call, {"agent": {"proven": true}}) with data.settings.agents as agents
	holdgate.decision.action == "deny" with input as tool("y", "read") with data.settings.agents as agents
	holdgate.decision.action == "deny" with input as object.union(call, {"agent": {"id": "other"}}) with data.settings.agents as agents
}

test_what_is_plain_is_what_nothing_is_said_of if {
	every category in ["exec", "read", "write"] {
		facts := {"commands": [{"program": "ls", "argv": ["ls"]}], "paths": [{"clean": "x", "access": "write", "inside": true}], "impact": {}}
		call := tool_call({"name": "x", "category": category, "setting": "balanced"}, facts)
		holdgate.plain_tool with input as call
		not holdgate.plain_tool with input as object.union(call, {"tool": {"setting": "strict"}})
		not holdgate.plain_tool with input as object.union(call, {"session": {"mode": "manual"}})
		not holdgate.plain_tool with input as object.union(call, {"confidence": {"score": 0.9}})
	}
}

test_other_hosts_ask if {
	call := tool_call({"name": "x", "category": "network"}, {"urls": [{"url": "https://example.com/", "host": "example.com"}]})
	decision := holdgate.decision with input as call
	decision.rule == "network.tool"
	contains(decision.hold.message, "example.com")
}

test_what_was_looked_up_is_not_looked_up_again if {
	holdgate.decision.action == "deny" with input as tool_call({"name": "x", "category": "read", "setting": "deny"}, {"impact": {}})
	holdgate.decision.action == "allow" with input as tool_call({"name": "x", "category": "message", "setting": "auto"}, {"impact": {}})
}

test_a_tool_is_not_what_it_touches if {
	d := holdgate.decision with input as {"kind": "tool_call", "tool": {"name": "nobody_knows", "category": "unknown"}, "facts": {}}
	d.rule == "tools.unknown"
	d.hold.message == "The policy does not know what this tool does."
}
