package holdgate_test

import data.holdgate

test_requests_pass if {
	holdgate.decision.action == "allow" with input as model_request({"provider": "p", "name": "m", "tools": ["Bash"]})
}

searching := model_request({"provider": "p", "name": "m", "server_tools": [{"type": "web_search_1", "name": "web_search"}]})

test_server_tools_ask if {
	holdgate.decision.rule == "model.server_tools" with input as searching
}

test_server_tools_by_setting if {
	holdgate.decision.action == "allow" with input as searching with data.settings.model.server_tools as {"web_search_1": "auto"}
	holdgate.decision.action == "allow" with input as searching with data.settings.model.server_tools as {"web_search": "auto"}
	holdgate.decision.action == "deny" with input as searching with data.settings.model.server_tools as {"*": "deny"}
	holdgate.decision.action == "hold" with input as searching with data.settings.model.server_tools as {}
}

test_models_on_a_list if {
	call := model_request({"provider": "p", "name": "m"})
	every allow in [["m"], ["p/m"], ["p/*"], []] {
		holdgate.decision.action == "allow" with input as call with data.settings.model.allow as allow
	}
	holdgate.decision.action == "deny" with input as call with data.settings.model.allow as ["q/*"]
}
