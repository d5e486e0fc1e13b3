package holdgate_test

import data.holdgate

test_requests_pass if {
	holdgate.decision.action == "allow" with input as model_request({"provider": "p", "name": "m", "tools": ["Bash"]})
}

searching := model_request({"provider": "p", "name": "m", "server_tools": [{"type": "web_search_1", "name": "web_search"}]})

test_server_tools_ask_once if {
	holdgate.decision.rule == "model.server_tools" with input as searching
	holdgate.decision.hold.once with input as searching
}

test_server_tools_by_setting if {
	holdgate.decision.action == "allow" with input as searching with data.settings.model.server_tools as {"web_search_1": "auto"}
	holdgate.decision.action == "allow" with input as searching with data.settings.model.server_tools as {"web_search": "auto"}
	holdgate.decision.action == "deny" with input as searching with data.settings.model.server_tools as {"*": "deny"}
	holdgate.decision.action == "hold" with input as searching with data.settings.model.server_tools as {}
}

test_unapproved_results if {
	call := model_request({"provider": "p", "name": "m", "unapproved": [{"id": "toolu_1", "tool": "Bash", "why": "refused"}, {"why": "unseen"}]})
	holdgate.decision.action == "allow" with input as call
	strict := holdgate.decision with input as call with data.settings.profile as "strict"
	strict.action == "hold"
	strict.rule == "model.unapproved"
	holdgate.decision.action == "allow" with input as call with data.settings.profile as "strict" with data.settings.model.unapproved as "auto"
	holdgate.decision.action == "deny" with input as call with data.settings.model.unapproved as "deny"
}

test_models_on_a_list if {
	call := model_request({"provider": "p", "name": "m"})
	every allow in [["m"], ["p/m"], ["p/*"], []] {
		holdgate.decision.action == "allow" with input as call with data.settings.model.allow as allow
	}
	holdgate.decision.action == "deny" with input as call with data.settings.model.allow as ["q/*"]
}

test_budgets if {
	call := object.union(model_request({"provider": "p", "name": "m"}), {"usage": {"tokens": 1000, "cost": 2.5, "calls_per_minute": 3}})
	holdgate.decision.action == "allow" with input as call
	every budget in [{"tokens": 1000}, {"cost": 2}, {"calls_per_minute": 3, "tokens": 5000}] {
		decision := holdgate.decision with input as call with data.settings.model.budget as budget
		decision.rule == "model.budget"
	}
	holdgate.decision.action == "allow" with input as call with data.settings.model.budget as {"tokens": 1001}
	refused := holdgate.decision with input as call
		with data.settings.model.budget as {"tokens": 10}
		with data.settings.model.over_budget as "deny"
	refused.action == "deny"
	contains(refused.reason, "1000 of 10 tokens")
	spent := holdgate.decision with input as object.union(call, {"usage": {"cost": 20.254000300000003, "unmetered": 3, "unpriced": 12}})
		with data.settings.model.budget as {"cost": 20.25, "unmetered": 3, "unpriced": 12}
		with data.settings.model.over_budget as "deny"
	contains(spent.reason, "20.25 of 20.25 cost")
	contains(spent.reason, "3 of 3 answers that do not say what they used")
	contains(spent.reason, "12 of 12 answers whose cost is not known")
}

# However many answers say nothing, a budget counts; and nobody asks where there is none.
test_a_budget_of_what_nobody_knows if {
	call := object.union(model_request({"provider": "p", "name": "m"}), {"usage": {"cost": 1, "unmetered": 11, "unpriced": 12}})
	every budget in [{"cost": 20}, {"tokens": 1000}, {"unpriced": 12}, {"unmetered": 11, "cost": 20}] {
		decision := holdgate.decision with input as call with data.settings.model.budget as budget
		decision.rule == "model.budget"
	}
	every budget in [{}, {"calls_per_minute": 9}, {"cost": 20, "unpriced": 50}, {"tokens": 1000, "unmetered": 50}] {
		decision := holdgate.decision with input as call with data.settings.model.budget as budget
		decision.action == "allow"
	}
	few := object.union(call, {"usage": {"cost": 1, "unpriced": 10}})
	holdgate.decision.action == "allow" with input as few with data.settings.model.budget as {"cost": 20}
	refused := holdgate.decision with input as call
		with data.settings.model.budget as {"cost": 20}
		with data.settings.model.over_budget as "deny"
	contains(refused.reason, "12 answers whose cost is not known")
}

test_a_hosted_server_is_shown_with_its_address if {
	call := model_request({"provider": "p", "name": "m", "server_tools": [{"type": "mcp", "name": "x", "url": "https://mcp.example"}]})
	contains(holdgate.decision.hold.message, "mcp https://mcp.example") with input as call
}

asking_at(host) := model_request({"provider": "anthropic", "name": "m", "stream": false, "host": host})

test_models_at_hosts_that_nobody_named if {
	every host in ["collect.example", "collect.example:8443", "127.0.0.1.collect.example", "pypi.org", "api.anthropic.com.collect.example"] {
		d := holdgate.decision with input as asking_at(host)
		d.action == "hold"
		d.rule == "model.host"
		d.hold.once == true
		contains(d.hold.message, host)
		known := holdgate.decision with input as json.patch(asking_at(host), [{"op": "add", "path": "/model/host_known", "value": true}])
		known.action == "allow"
	}
	every host in ["localhost", "localhost:11434", "127.0.0.1:11434", "[::1]:8080"] {
		holdgate.decision.action == "allow" with input as asking_at(host)
	}
	holdgate.decision.action == "allow" with input as asking_at("collect.example") with data.settings.model.hosts as "auto"
	refused := holdgate.decision with input as asking_at("collect.example") with data.settings.model.hosts as "deny"
	refused.action == "deny"
	refused.rule == "model.host"
}

test_models_at_hosts_of_the_settings if {
	every line in ["auto", {"POST": "auto"}, {"*": "auto"}, {"*": "auto", "/v1/*": "auto"}] {
		holdgate.decision.action == "allow" with input as asking_at("gw.corp.example") with data.settings.http.hosts as {"*.corp.example": line}
	}
	every line in ["ask", {"GET": "auto"}, {"POST /v1/*": "auto"}, {"*": "auto", "POST /admin/*": "ask"}] {
		d := holdgate.decision with input as asking_at("gw.corp.example") with data.settings.http.hosts as {"*.corp.example": line}
		d.rule == "model.host"
		d.action == "hold"
	}
	denied := holdgate.decision with input as asking_at("gw.corp.example") with data.settings.http.hosts as {"gw.corp.example": "deny"}
	denied.action == "deny"
}
