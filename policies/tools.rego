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
# title: Tools whose effect is outward or unknown
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "tool_call"
	not tool_setting
	d := category_decision(object.get(input.tool, "category", "unknown"))
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
	not input.tool.category in {"read", "write"}
	d := ask("text.suspicious", "high", "The arguments hold characters that make them look like something else.", sort(kinds))
}

# METADATA
# title: What the settings say of the tool, by its most specific name
# custom:
#   risk: low
tool_setting := setting if {
	setting := data.settings.tools[tool_title]
} else := setting if {
	setting := data.settings.tools[concat("/", [input.tool.server, "*"])]
} else := setting if {
	input.tool.server
	setting := data.settings.tools[concat("/", ["*", input.tool.name])]
} else := setting if {
	setting := data.settings.tools[model_side_title]
} else := setting if {
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
category_decision(category) := ask("tools.unknown", "medium", "The policy does not know what this tool does.", [tool_title]) if {
	not category in {"read", "write", "delete", "exec", "network", "spawn", "database", "message"}
}

# METADATA
# title: Tools that reach the network
# custom:
#   risk: medium
category_decision("network") := ask("network.tool", "medium", "The tool reaches the network.", reached) if count(reached) > 0

category_decision("network") := ask("network.tool", "medium", "The tool reaches the network.", [tool_title]) if not input.facts.urls

# METADATA
# title: Tools that write to people
# custom:
#   risk: medium
category_decision("message") := ask("tools.message", "medium", "The tool sends a message to somebody.", [tool_title])

# METADATA
# title: Tools that delete without saying what
# custom:
#   risk: medium
category_decision("delete") := ask("files.delete", "medium", "The tool deletes something.", [tool_title]) if not deletes_paths

# METADATA
# title: Tools that run something that is not understood
# custom:
#   risk: medium
category_decision("exec") := ask("shell.unknown", "medium", "The tool runs something, and what it runs is not known.", [tool_title]) if {
	not input.facts.commands
}

# METADATA
# title: Databases that are spoken to in an unknown way
# custom:
#   risk: medium
category_decision("database") := ask("sql.unseen", "medium", "The tool talks to a database, and what it says there is not known.", [tool_title]) if {
	not input.facts.sql
}

# METADATA
# title: Writing to places that are not known
# custom:
#   risk: medium
category_decision("write") := ask("files.unknown", "medium", "The tool writes something, and where is not known.", [tool_title]) if {
	not input.facts.paths
}

reached contains u.host if {
	some u in input.facts.urls
	not u.host in data.settings.network.hosts
}
