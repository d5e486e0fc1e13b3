package holdgate

# METADATA
# title: What the settings say of the tool
# description: The most specific name that the settings know counts; "auto" lifts the questions of this file only.
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "tool_call"
	tool_setting != "auto"
	d := by_setting(tool_setting, "tools.setting", "medium", "The settings ask about this tool.", [tool_title])
}

# METADATA
# title: Arguments that could not be read
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "tool_call"
	input.facts.parse_errors[0]
	d := ask("tools.unreadable", "medium", "The arguments could not be read in full, so what the call does is not known.", input.facts.parse_errors)
}

# METADATA
# title: Text that reads otherwise than it is
# description: In files such characters are common; in what is run or sent they deceive.
# custom:
#   risk: high
decisions contains d if {
	input.facts.suspicious_text[0]
	kinds := {kind | some kind in input.facts.suspicious_text; kind != "unusual_space"}
	count(kinds) > 0
	not files_only
	d := ask("text.suspicious", "high", "The arguments hold characters that make them look like something else.", sort(kinds))
}

files_only if input.tool.category in {"read", "write"}

# METADATA
# title: What the settings say of the tool, by its most specific name
# description: Undefined where they say nothing.
# custom:
#   risk: low
tool_setting := data.settings.tools[tool_title] if {
	true
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
} else := data.settings.tools["*"]

# METADATA
# title: The server and tool that a name of the form mcp__server__tool stands for
# custom:
#   risk: low
model_side_title := concat("/", array.slice(split(input.tool.name, "__"), 1, 3)) if startswith(input.tool.name, "mcp__")

# METADATA
# title: Tools that nobody has said anything about
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "tool_call"
	not known_category
	not tool_setting
	d := ask("tools.unknown", "medium", "The policy does not know what this tool does.", [tool_title])
}

known_category if input.tool.category in {"read", "write", "delete", "exec", "network", "spawn", "database", "message"}

# METADATA
# title: Tools that reach the network
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "tool_call"
	input.tool.category == "network"
	count(reached) > 0
	not tool_setting
	d := ask("network.tool", "medium", "The tool reaches the network.", sort(reached))
}

# METADATA
# title: Tools that reach the network without saying where
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "tool_call"
	input.tool.category == "network"
	not input.facts.urls
	not tool_setting
	d := ask("network.tool", "medium", "The tool reaches the network.", [tool_title])
}

# METADATA
# title: Tools that write to people
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "tool_call"
	input.tool.category == "message"
	not tool_setting
	d := ask("tools.message", "medium", "The tool sends a message to somebody.", [tool_title])
}

# METADATA
# title: Tools that delete without saying what
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "tool_call"
	input.tool.category == "delete"
	not deletes_paths
	not tool_setting
	d := ask("files.delete", "medium", "The tool deletes something.", [tool_title])
}

# METADATA
# title: Tools that run something that is not understood
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "tool_call"
	input.tool.category == "exec"
	not input.facts.commands
	not tool_setting
	d := ask("shell.unknown", "medium", "The tool runs something, and what it runs is not known.", [tool_title])
}

# METADATA
# title: Databases that are spoken to in an unknown way
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "tool_call"
	input.tool.category == "database"
	not input.facts.sql
	not tool_setting
	d := ask("sql.unseen", "medium", "The tool talks to a database, and what it says there is not known.", [tool_title])
}

# METADATA
# title: Tools that write without saying where
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "tool_call"
	input.tool.category == "write"
	not input.facts.paths
	not tool_setting
	d := ask("files.unknown", "medium", "The tool writes something, and where is not known.", [tool_title])
}

reached contains u.host if {
	some u in input.facts.urls
	not u.host in data.settings.network.hosts
}
