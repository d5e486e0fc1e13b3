package holdgate

# METADATA
# title: Tools of which their server says something else than before
# description: |
#   A person who approves is shown the difference, and accepts it. Neither
#   settings for the tool nor grants answer this.
# custom:
#   risk: high
decisions contains d if {
	input.tool.definition_changed == true
	d := ask("tools.changed", "high", "The server says something else of this tool than before.", [tool_title])
}

# METADATA
# title: Tools of which their server says that they may destroy something
# description: What tools that write, delete or run something would touch is judged by itself.
# custom:
#   risk: medium
tool_decisions contains d if {
	input.tool.annotations.destructiveHint == true
	not input.tool.category in {"write", "delete", "exec", "database"}
	tool_setting in {"balanced", "strict"}
	d := ask("tools.hinted", "medium", "The server says that this tool may destroy something.", [tool_title])
}

# METADATA
# title: Tools that read by their name, and do more by what their server says
# description: A name proves nothing, and the server ought to know.
# custom:
#   risk: medium
tool_decisions contains d if {
	input.tool.annotations.readOnlyHint == false
	input.tool.category == "read"
	tool_setting in {"balanced", "strict"}
	d := ask("tools.hinted", "medium", "By its name this tool reads, and the server says that it does more.", [tool_title])
}

# METADATA
# title: Whether a tool of a configured server only reads, by all that is known of it
# description: |
#   By its name, description, parameters and hints, as the server itself has given
#   them, unchanged, and by what the call would touch. data.settings.mcp.readers says
#   whether that is enough. What an agent says of its own tools is not among it.
# custom:
#   risk: high
plain_reader if {
	input.tool.reads == true
	input.tool.configured == true
	input.tool.definition_changed == false
	data.settings.mcp.readers == "auto"
	tool_setting == "balanced"
	count(more_than_looks) == 0
}

more_than_looks contains "it runs something" if input.facts.commands

more_than_looks contains "it speaks SQL" if input.facts.sql

more_than_looks contains "it holds a secret" if input.facts.secrets

more_than_looks contains "it reaches the network" if count(reached) > 0

more_than_looks contains "it writes or deletes" if {
	some p in input.facts.paths
	p.access != "read"
}

# METADATA
# title: Whether a server that the settings trust says that the tool only reads
# description: |
#   The word of any other server loosens nothing. The server is the one that the
#   call is for, never the one that a name on the model's side stands for.
# custom:
#   risk: high
trusted_reader if {
	input.tool.annotations.readOnlyHint == true
	data.settings.mcp.trusted[input.tool.server] == true
}
