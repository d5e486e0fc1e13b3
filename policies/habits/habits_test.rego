package holdgate_test

import data.holdgate

habits := {"approvals": 3, "days": 30, "rules": ["files.outside", "files.delete", "tools.unknown", "commands.unknown", "mode.manual", "network.tool", "custom.required", "custom.choice", "custom.gate", "custom.grave"]}

proven := {"agent": {"id": "builder", "proven": true}}

outside := object.union(touching({"clean": "/srv/www/index.html", "class": ""}), proven)

plainly(call) := json.remove(call, ["/facts/paths/0/class"])

learns(call) if {
	d := holdgate.decision with input as call with data.settings.learned as habits
	d.action == "hold"
	d.hold.learn == {"approvals": 3, "days": 30}
}

held(call) if {
	d := holdgate.decision with input as call with data.settings.learned as habits
	d.action == "hold"
	not d.hold.learn
}

test_nothing_is_learned_unless_the_settings_say_so if {
	d := holdgate.decision with input as plainly(outside)
	d.rule == "files.outside"
	not d.hold.learn
}

test_a_question_may_be_learned if learns(plainly(outside))

test_only_of_an_agent_that_has_proven_who_it_is if held(object.union(plainly(outside), {"agent": {"proven": false}}))

test_only_of_rules_that_the_settings_name if {
	d := holdgate.decision with input as plainly(outside) with data.settings.learned as object.union(habits, {"rules": ["files.delete"]})
	d.action == "hold"
	not d.hold.learn
}

test_only_of_calls_of_tools if {
	call := object.union(requesting("POST", "api.example.com", "/x"), proven)
	d := holdgate.decision with input as call with data.settings.learned as object.union(habits, {"rules": ["http.write", "http.host"]})
	d.action == "hold"
	not d.hold.learn
}

test_never_in_mode_manual if held(object.union(plainly(outside), {"session": {"mode": "manual"}}))

test_never_of_what_runs if {
	call := object.union(plainly(outside), {"facts": {"commands": [{"program": "cp", "argv": ["cp", "a", "/srv/www/a"]}]}})
	held(call)
}

test_never_of_tools_that_run_send_or_delete if {
	every category in ["exec", "network", "spawn", "message", "delete", "database"] {
		holdgate.never_learned[category] with input as {"tool": {"category": category}}
	}
}

test_never_of_what_reaches_further_than_files if {
	every facts in [
		{"commands": []},
		{"urls": [{"host": "a.example"}]},
		{"sql": [{"verb": "insert"}]},
		{"secrets": [{"pointer": "/content", "kind": "token"}]},
		{"parse_errors": ["broken"]},
		{"suspicious_text": ["bidi"]},
		{"paths": [{"clean": "/srv/x", "access": "write", "class": "persistence"}]},
		{"paths": [{"clean": "/srv/x", "access": "delete"}]},
	] {
		count(holdgate.never_learned) == 1 with input as {"tool": {"category": "write"}, "facts": facts}
	}
}

test_never_of_a_call_that_a_person_made if held(object.union(plainly(outside), {"edited": true}))

test_never_in_a_session_that_read_what_strangers_wrote if held(object.union(plainly(outside), {"session": {"taint": ["untrusted"]}}))

test_never_where_another_rule_asks_that_is_not_learned if {
	call := object.union(plainly(outside), {"session": {"repeats": 9}})
	d := holdgate.decision with input as call with data.settings.learned as habits with data.settings.repeats as 3
	d.action == "hold"
	not d.hold.learn
}

test_never_what_a_person_must_answer_each_time if {
	every d in [
		{"action": "hold", "rule": "custom.required", "risk": "low", "hold": {"required": true}},
		{"action": "hold", "rule": "custom.choice", "risk": "low", "hold": {"kind": "choice"}},
		{"action": "hold", "rule": "custom.gate", "risk": "low", "hold": {"gate": "before_commit"}},
		{"action": "hold", "rule": "custom.grave", "risk": "high"},
		{"action": "deny", "rule": "files.outside", "risk": "low"},
	] {
		not holdgate.may_be_learned(d) with data.settings.learned as habits
	}
}
