package holdgate

# METADATA
# title: What packages of the user say
# description: |
#   A package holdgate.custom.NAME adds to a set, decisions, or gives one
#   decision. Holdgate leaves this file out where there is no such package, for
#   looking for them costs more than most rules.
# custom:
#   risk: low
decisions contains d if {
	some d in custom_decisions
	not shipped(d)
}

# METADATA
# title: A rule of the user's under the id of a shipped rule
# description: |
#   Answers, grants and exceptions go by ids, and would count for both. Ids that are written
#   out are refused when the policy loads; this is for those that are computed.
# custom:
#   risk: high
decisions contains taken(d.rule) if {
	some d in custom_decisions
	shipped(d)
}

shipped(d) if d.rule in shipped_ids

taken(id) := refuse("custom.id_taken", "high", sprintf("A rule of your own goes by the id of a shipped rule, %q. Give it another, such as %q.", [id, concat("", ["own.", id])]), [])

custom_decisions contains d if some d in data.holdgate.custom[_].decisions
custom_decisions contains data.holdgate.custom[_].decision
custom_decisions contains d if some d in data.holdgate.custom.decisions
custom_decisions contains data.holdgate.custom.decision

# METADATA
# title: What packages of the user say of results
# description: They add to a set, results, or give one result, as for calls.
# custom:
#   risk: low
results contains d if {
	some d in custom_results
	not shipped(d)
}

results contains taken(d.rule) if {
	some d in custom_results
	shipped(d)
}

custom_results contains d if some d in data.holdgate.custom[_].results
custom_results contains data.holdgate.custom[_].result
custom_results contains d if some d in data.holdgate.custom.results
custom_results contains data.holdgate.custom.result

# METADATA
# title: The ids of the shipped rules
# custom:
#   risk: low
shipped_ids := {
	"confidence.low",
	"confidence.medium",
	"confidence.none",
	"confidence.threshold",
	"custom.id_taken",
	"default",
	"files.delete",
	"files.misleading",
	"files.outside",
	"files.system",
	"files.unknown",
	"gate",
	"git.discard",
	"git.force_push",
	"git.push",
	"http.host",
	"http.model_api",
	"http.operation",
	"http.override",
	"http.telemetry",
	"http.unnamed",
	"http.write",
	"kind.unknown",
	"mcp.method",
	"mode.manual",
	"mode.unknown",
	"model.account",
	"model.budget",
	"model.host",
	"model.not_allowed",
	"model.server_tools",
	"model.unapproved",
	"network.command",
	"network.inner",
	"network.tool",
	"network.tunnel",
	"packages.install",
	"persistence",
	"production.config",
	"production.deploy",
	"production.target",
	"profile.strict",
	"publish",
	"results.secrets",
	"results.size",
	"results.unread",
	"secrets",
	"secrets.sent",
	"self_approval",
	"session.advice",
	"session.checkpoint",
	"session.gate",
	"session.repeats",
	"session.taint",
	"shell.disk",
	"shell.environment",
	"shell.privilege",
	"shell.script",
	"shell.system",
	"shell.unbound",
	"shell.unknown",
	"shell.unresolved",
	"sql.change",
	"sql.destroy",
	"sql.unseen",
	"text.suspicious",
	"tools.changed",
	"tools.hinted",
	"tools.message",
	"tools.setting",
	"tools.unknown",
	"tools.unreadable",
}
