package holdgate_test

import data.holdgate

sql(statement) := tool_call({"name": "query", "category": "database"}, {"category": "database", "sql": [statement], "impact": {}})

test_questions_pass if {
	holdgate.decision.action == "allow" with input as sql({"verb": "select", "tables": ["users"], "where": false})
}

test_destruction_asks if {
	every statement in [
		{"verb": "drop", "object": "table", "tables": ["users"], "where": false},
		{"verb": "truncate", "tables": ["users"], "where": false},
		{"verb": "delete", "tables": ["users"], "where": false},
		{"verb": "update", "tables": ["users"], "where": false},
	] {
		holdgate.decision.rule == "sql.destroy" with input as sql(statement)
	}
}

test_changes_ask if {
	every statement in [
		{"verb": "delete", "tables": ["users"], "where": true},
		{"verb": "insert", "tables": ["users"], "where": false},
		{"verb": "frobnicate", "where": false},
	] {
		holdgate.decision.rule == "sql.change" with input as sql(statement)
	}
}

test_a_database_tool_without_sql_asks if {
	call := tool_call({"name": "query", "category": "database"}, {"category": "database", "impact": {}})
	holdgate.decision.rule == "sql.unseen" with input as call
}

test_databases_for_temporary_use_may_be_changed if {
	every verb in ["create", "insert", "drop"] {
		holdgate.decision.action == "allow" with input as sql({"verb": verb, "where": false, "scratch": true})
	}
}
