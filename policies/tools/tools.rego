package holdgate

# METADATA
# title: What there is to say of a tool itself, its session's mode and its agent's confidence
# custom:
#   risk: low
decisions contains d if {
	input.kind == "tool_call"
	not plain_tool
	some d in tool_decisions
}

# METADATA
# title: Whether there is nothing to say of them
# description: The common case, for speed; tool_decisions says the same in full.
# custom:
#   risk: low
plain_tool if {
	input.tool.category == "exec"
	input.tool.setting == "balanced"
	input.session.mode == "auto"
	input.facts.commands
	not input.confidence
}

plain_tool if {
	input.tool.category == "read"
	input.tool.setting == "balanced"
	input.session.mode == "auto"
	not input.confidence
	not input.tool.annotations
}

plain_tool if {
	input.tool.category == "write"
	input.tool.setting == "balanced"
	input.session.mode == "auto"
	input.facts.paths
	not input.confidence
}

# METADATA
# title: What the settings say of the tool
# description: The most specific name that the settings know counts; "auto" lifts the questions of this file only.
# custom:
#   risk: medium
tool_decisions contains d if {
	not tool_setting in {"auto", "balanced", "strict"}
	d := by_setting(tool_setting, "tools.setting", "medium", "The settings ask about this tool.", [tool_title])
}

# METADATA
# title: Tools that the profile asks about
# description: |
#   The profile strict asks about every tool that runs, writes, deletes or sends
#   something, unless the settings say something else of it.
# custom:
#   risk: medium
tool_decisions contains d if {
	tool_setting == "strict"
	not input.tool.category == "read"
	not trusted_reader
	d := ask("profile.strict", "medium", "The profile asks about every call that does more than read.", [tool_title])
}

# METADATA
# title: Arguments that could not be read
# description: What cannot be worked out is not let through.
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "tool_call"
	input.facts.parse_errors
	unread := [problem | some problem in input.facts.parse_errors; not misleads(problem)]
	count(unread) > 0
	d := ask("tools.unreadable", "medium", "The arguments could not be read in full, so what the call does is not known.", unread)
}

# METADATA
# title: Files that later commands take for something else
# description: |
#   A name that reads as an option or as several words, and a file for the number of a
#   process that holds another than one the call has started.
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "tool_call"
	input.facts.parse_errors
	problems := [problem | some problem in input.facts.parse_errors; misleads(problem)]
	count(problems) > 0
	d := ask("files.misleading", "medium", "The call makes a file that later commands take for something else.", problems)
}

misleads(problem) if regex.match(`^a file is named like an option|is to hold the number of a process|^numbers of processes are copied`, problem)

# METADATA
# title: Text that reads otherwise than it is
# description: In files such characters are common; in what is run or sent they deceive.
# custom:
#   risk: high
decisions contains d if {
	input.facts.suspicious_text
	kinds := {kind | some kind in input.facts.suspicious_text; kind != "unusual_space"}
	count(kinds) > 0
	not files_only
	d := ask("text.suspicious", "high", "The arguments hold characters that make them look like something else.", sort(kinds))
}

files_only if input.tool.category in {"read", "write"}

# METADATA
# title: What the settings say of the tool
# description: |
#   The profile where they say nothing. Holdgate has looked already, but for inputs that
#   are written by hand. An agent's own settings come first, then the
#   tool's by its most specific name, then those of all tools, then those of its
#   category. Each is found by a look-up, so that their number costs nothing.
# custom:
#   risk: low
tool_setting := input.tool.setting if {
	input.tool.setting
} else := setting if {
	setting := agent_setting
} else := setting if {
	setting := data.settings.tools[tool_title]
} else := setting if {
	input.tool.server
	setting := data.settings.tools[concat("/", [input.tool.server, "*"])]
} else := setting if {
	input.tool.server
	setting := data.settings.tools[concat("/", ["*", input.tool.name])]
} else := setting if {
	startswith(input.tool.name, "mcp__")
	setting := data.settings.tools[model_side_title]
} else := setting if {
	startswith(input.tool.name, "mcp__")
	setting := data.settings.tools[concat("/", [split(model_side_title, "/")[0], "*"])]
} else := setting if {
	setting := data.settings.categories[input.tool.category]
} else := object.get(data.settings.tools, "*", data.settings.profile)

# METADATA
# title: What the settings say of the tool for this agent
# description: An identity that is only asserted can make a rule stricter, never looser.
# custom:
#   risk: medium
agent_setting := setting if {
	tools := data.settings.agents[input.agent.id].tools
	setting := object.get(tools, tool_title, object.get(tools, "*", null))
	is_string(setting)
	asserted_may(setting)
}

asserted_may(setting) if setting != "auto"

asserted_may("auto") if input.agent.proven

# METADATA
# title: The server and tool that a name of the form mcp__server__tool stands for
# custom:
#   risk: low
model_side_title := concat("/", array.slice(split(input.tool.name, "__"), 1, 3)) if startswith(input.tool.name, "mcp__")

# METADATA
# title: Tools that nobody has said anything about
# description: |
#   A line in data.settings.tools says what to do with them. The question is about the
#   tool: an approval can stand for it, as long as its server says the same of it.
# custom:
#   risk: medium
tool_decisions contains d if {
	not known_category
	not trusted_reader
	not plain_reader
	tool_setting in {"balanced", "strict"}
	d := object.union(
		ask("tools.unknown", "medium", "The policy does not know what this tool does.", [tool_title]),
		{"hold": {"tool": true}},
	)
}

known_category if input.tool.category in {"read", "write", "delete", "exec", "network", "spawn", "database", "message"}

# METADATA
# title: Tools that reach the network
# description: Hosts of data.settings.network.hosts pass.
# custom:
#   risk: medium
tool_decisions contains d if {
	input.tool.category == "network"
	count(reached) > 0
	tool_setting in {"balanced", "strict"}
	d := ask("network.tool", "medium", "The tool reaches the network.", sort(reached))
}

# METADATA
# title: Tools that reach the network without saying where
# description: The facts found no address in the arguments.
# custom:
#   risk: medium
tool_decisions contains d if {
	input.tool.category == "network"
	not input.facts.urls
	tool_setting in {"balanced", "strict"}
	d := ask("network.tool", "medium", "The tool reaches the network.", [tool_title])
}

# METADATA
# title: Tools that write to people
# description: Others read it from then on.
# custom:
#   risk: medium
tool_decisions contains d if {
	input.tool.category == "message"
	tool_setting in {"balanced", "strict"}
	d := ask("tools.message", "medium", "The tool sends a message to somebody.", [tool_title])
}

# METADATA
# title: Tools that delete without saying what
# description: The facts found no path in the arguments.
# custom:
#   risk: medium
tool_decisions contains d if {
	input.tool.category == "delete"
	not deletes_paths
	tool_setting in {"balanced", "strict"}
	d := ask("files.delete", "medium", "The tool deletes something.", [tool_title])
}

# METADATA
# title: Tools that run something that is not understood
# description: The facts found no command in the arguments.
# custom:
#   risk: medium
tool_decisions contains d if {
	input.tool.category == "exec"
	not input.facts.commands
	tool_setting in {"balanced", "strict"}
	d := ask("shell.unknown", "medium", "The tool runs something, and what it runs is not known.", [tool_title])
}

# METADATA
# title: Databases that are spoken to in an unknown way
# description: The facts found no SQL in the arguments.
# custom:
#   risk: medium
tool_decisions contains d if {
	input.tool.category == "database"
	not input.facts.sql
	not plain_reader
	tool_setting in {"balanced", "strict"}
	d := ask("sql.unseen", "medium", "The tool talks to a database, and what it says there is not known.", [tool_title])
}

# METADATA
# title: Tools that write without saying where
# description: The facts found no path in the arguments.
# custom:
#   risk: medium
tool_decisions contains d if {
	input.tool.category == "write"
	not input.facts.paths
	tool_setting in {"balanced", "strict"}
	d := ask("files.unknown", "medium", "The tool writes something, and where is not known.", [tool_title])
}

reached contains u.host if {
	some u in input.facts.urls
	not u.host in data.settings.network.hosts
}
