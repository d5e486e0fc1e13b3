package holdgate_test

import data.holdgate

of_files(category, learned) := tool_call(object.union({"server": "files", "name": "x", "category": category}, learned), {"impact": {}})

test_a_changed_definition_is_asked_about if {
	call := of_files("read", {"definition_changed": true})
	holdgate.decision.rule == "tools.changed" with input as call
	holdgate.decision.risk == "high" with input as call
	holdgate.decision.action == "allow" with input as of_files("read", {"definition_changed": false})
}

test_a_setting_for_the_tool_does_not_lift_it if {
	call := of_files("read", {"definition_changed": true})
	holdgate.decision.rule == "tools.changed" with input as call with data.settings.tools as {"files/x": "auto"}
}

test_an_answer_lets_a_changed_tool_go_on if {
	call := object.union(of_files("read", {"definition_changed": true}), {"answers": [{"rule": "tools.changed", "gate": "", "decision": "approve", "by": "ann"}]})
	holdgate.decision.action == "allow" with input as call
}

test_hints_make_it_stricter if {
	destructive := {"annotations": {"destructiveHint": true}}
	holdgate.decision.rule == "tools.hinted" with input as of_files("read", destructive)
	holdgate.decision.rule == "tools.hinted" with input as of_files("spawn", destructive)
	holdgate.decision.rule == "files.unknown" with input as of_files("write", destructive)
	holdgate.decision.rule == "tools.hinted" with input as of_files("read", {"annotations": {"readOnlyHint": false}})
	holdgate.decision.action == "allow" with input as of_files("read", {"annotations": {"readOnlyHint": true, "destructiveHint": false}})
}

test_a_setting_lifts_what_hints_ask if {
	call := of_files("read", {"annotations": {"destructiveHint": true, "readOnlyHint": false}})
	holdgate.decision.action == "allow" with input as call with data.settings.tools as {"files/x": "auto"}
}

test_hints_loosen_nothing if {
	call := of_files("unknown", {"annotations": {"readOnlyHint": true}})
	holdgate.decision.rule == "tools.unknown" with input as call
	holdgate.decision.rule == "profile.strict" with input as call with data.settings.profile as "strict"
}

test_hints_of_a_trusted_server_do if {
	call := of_files("unknown", {"annotations": {"readOnlyHint": true}})
	holdgate.decision.action == "allow" with input as call with data.settings.mcp.trusted as {"files": true}
	holdgate.decision.action == "allow" with input as call with data.settings.mcp.trusted as {"files": true} with data.settings.profile as "strict"
	holdgate.decision.rule == "tools.unknown" with input as call with data.settings.mcp.trusted as {"files": false, "other": true}
}

reader := {"category": "unknown", "configured": true, "reads": true, "definition_changed": false}

reading(more, facts) := tool_call(object.union({"server": "files", "name": "x"}, object.union(reader, more)), object.union({"impact": {}}, facts))

test_a_configured_server_s_reader_passes if {
	holdgate.decision.action == "allow" with input as reading({}, {})
	holdgate.decision.action == "allow" with input as reading({"category": "database"}, {})
	holdgate.decision.action == "allow" with input as reading({}, {"paths": [{"clean": "/srv/app/a", "access": "read", "inside": true}]})
	holdgate.decision.action == "allow" with input as tool_call(object.union({"name": "mcp__files__x", "stands_for": "files/x"}, reader), {"impact": {}})
}

test_all_of_it_must_be_known_of_a_reader if {
	every missing in ["configured", "reads", "definition_changed"] {
		call := tool_call(object.remove(object.union({"server": "files", "name": "x"}, reader), [missing]), {"impact": {}})
		d := holdgate.decision with input as call
		d.rule == "tools.unknown"
		d.hold.tool == true
	}
	holdgate.decision.rule == "tools.changed" with input as reading({"definition_changed": true}, {})
	holdgate.decision.rule == "sql.unseen" with input as reading({"category": "database", "reads": false}, {})
}

test_the_settings_have_readers_asked_about if {
	holdgate.decision.rule == "tools.unknown" with input as reading({}, {}) with data.settings.mcp.readers as "ask"
	holdgate.decision.rule == "tools.setting" with input as reading({}, {}) with data.settings.tools as {"files/x": "ask"}
	holdgate.decision.rule == "profile.strict" with input as reading({}, {}) with data.settings.profile as "strict"
}

test_a_call_that_does_more_is_no_reader_s if {
	every facts in [
		{"commands": [{"program": "ls", "argv": ["ls"]}]},
		{"sql": [{"verb": "select", "tables": ["t"], "where": true}]},
		{"urls": [{"url": "https://e.example", "scheme": "https", "host": "e.example"}]},
		{"secrets": [{"kind": "k", "pointer": "/x"}]},
		{"paths": [{"clean": "/srv/app/a", "access": "write", "inside": true}]},
	] {
		d := holdgate.decision with input as reading({}, facts)
		"tools.unknown" in array.concat([d.rule], [f.rule | some f in object.get(d, "also", [])])
	}
}

test_a_name_on_the_models_side_gains_nothing_by_trust if {
	call := tool_call({"name": "mcp__files__x", "category": "unknown", "stands_for": "files/x", "annotations": {"readOnlyHint": true}}, {"impact": {}})
	holdgate.decision.rule == "tools.unknown" with input as call with data.settings.mcp.trusted as {"files": true}
}
