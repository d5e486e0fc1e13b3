package holdgate_test

import data.holdgate

lifted(exception) if {
	holdgate.decision.action == "allow" with input as shell([["rm", "x"]])
		with data.settings.exceptions as [object.union({"rule": "files.delete", "reason": "fine"}, exception)]
}

test_a_rule_is_lifted if {
	lifted({})
	lifted({"until": "2026-11-20T12:00:01Z"})
	lifted({"match": {"agent": "default", "session": "default", "tool": "Bash", "about": ["rm x", "rm y"]}})
}

test_a_rule_is_not_lifted if {
	not lifted({"rule": "secrets"})
	not lifted({"until": "2026-11-20T12:00:00Z"})
	not lifted({"until": "tomorrow"})
	not lifted({"match": {"agent": "other"}})
	not lifted({"match": {"tool": "Read"}})
	not lifted({"match": {"about": ["rm y"]}})
	not lifted({"match": {"colour": "red"}})
}
