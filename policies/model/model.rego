package holdgate

# METADATA
# title: Tools that the model's provider runs itself
# description: |
#   Their calls are seen only after they have run, so the request is the place to ask:
#   once per session and set of tools.
# custom:
#   risk: medium
decisions contains object.union(d, asked_once[d.action]) if {
	input.kind == "model_request"
	input.model.server_tools
	some setting, about in server_tools_by_setting
	d := by_setting(setting, "model.server_tools", "medium", "The request lets the provider run tools whose calls cannot be held.", sort(about))
}

asked_once := {"hold": {"hold": {"once": true}}, "deny": {}}

# METADATA
# title: Models at hosts that nobody has named
# description: |
#   Any host can take what is written as a request to a model. Named are the upstreams and
#   formats of the configuration, providers, and the hosts of data.settings.http.hosts. It is
#   asked once per session and host.
# custom:
#   risk: medium
decisions contains object.union(d, asked_once[d.action]) if {
	input.kind == "model_request"
	input.model.host
	not input.model.host_known
	unnamed_host_setting != "auto"
	d := by_setting(unnamed_host_setting, "model.host", "medium", "The request asks a model at a host that nobody has named as one: an upstream, or a line in settings.http.hosts, names it.", [http_host])
}

unnamed_host_setting := host_setting if {
	host_setting
} else := data.settings.model.hosts

server_tools_by_setting[setting] contains server_tool_title(tool) if {
	some tool in input.model.server_tools
	setting := server_tool_setting(tool)
}

server_tool_setting(tool) := setting if {
	setting := data.settings.model.server_tools[tool.type]
} else := setting if {
	setting := data.settings.model.server_tools[tool.name]
} else := setting if {
	setting := data.settings.model.server_tools["*"]
} else := "ask"

server_tool_title(tool) := concat(" ", [tool.type, tool.url]) if {
	tool.url
} else := tool.type

# METADATA
# title: Results of calls that were not let go on
# description: |
#   The agent shows what a tool gave back although the call was refused, is held,
#   or was never seen. The log says so in any case; the profile strict asks before
#   the model is told, and so may the settings.
# custom:
#   risk: high
decisions contains d if {
	input.kind == "model_request"
	input.model.unapproved
	unapproved_setting != "auto"
	about := sort({concat(" ", [object.get(u, "tool", "a tool"), u.why]) | some u in input.model.unapproved})
	d := by_setting(unapproved_setting, "model.unapproved", "high", "The request has results of calls that were not let go on.", about)
}

unapproved_setting := data.settings.model.unapproved if {
	data.settings.model.unapproved
} else := "ask" if {
	data.settings.profile == "strict"
} else := "auto"

# METADATA
# title: Models that are not on the list
# description: An empty list allows every model.
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "model_request"
	data.settings.model.allow[0]
	not model_listed
	d := refuse("model.not_allowed", "medium", "The model is not on the list of models that may be used.", [input.model.name])
}

model_listed if input.model.name in data.settings.model.allow

model_listed if concat("/", [input.model.provider, input.model.name]) in data.settings.model.allow

model_listed if concat("/", [input.model.provider, "*"]) in data.settings.model.allow

# METADATA
# title: Budgets that are used up
# description: |
#   Tokens, money and calls in the last minute, where the settings have a limit for them.
#   More than ten answers whose tokens or cost nobody knows use a budget up as well, unless
#   the settings have a limit for `unmetered` or `unpriced` ones.
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "model_request"
	input.usage
	count(used_up) > 0
	d := by_setting(data.settings.model.over_budget, "model.budget", "medium", "The session has used up its budget.", sort(used_up))
}

used_up contains sprintf("%v of %v %s", [round(input.usage[name] * 100) / 100, most, object.get(counted, name, replace(name, "_", " "))]) if {
	some name, most in data.settings.model.budget
	input.usage[name] >= most
}

counted := {
	"unmetered": "answers that do not say what they used",
	"unpriced": "answers whose cost is not known",
}

# A budget of what nobody knows would never be used up.
used_up contains sprintf("%v answers whose %s", [input.usage[unknown], why]) if {
	some name, [unknown, why] in {"cost": ["unpriced", "cost is not known"], "tokens": ["unmetered", "tokens are not known"]}
	data.settings.model.budget[name]
	not data.settings.model.budget[unknown]
	input.usage[unknown] > 10
}
