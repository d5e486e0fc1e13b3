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

test_deceiving_text_asks_where_something_runs if {
	facts := {"suspicious_text": ["bidi"], "commands": [{"program": "ls", "argv": ["ls"]}], "impact": {}}
	holdgate.decision.rule == "text.suspicious" with input as tool_call({"name": "Bash", "category": "exec"}, facts)
	holdgate.decision.action == "allow" with input as tool_call({"name": "Read", "category": "read"}, facts)
}
