package holdgate

# METADATA
# title: Commands that are more than harmless
# description: |
#   What a command is, is looked up in data.settings.commands, by program and
#   subcommand. Each class but "pass" and "build" is a clause of
#   command_decision, found by its index.
# custom:
#   risk: medium
decisions contains d if {
	count(harmless) < count(input.facts.commands)
	some class, about in commands_by_class
	d := command_decision(class, sort(about))
}

# METADATA
# title: The commands that are more than harmless, as text, by class
# custom:
#   risk: low
commands_by_class[class] contains concat(" ", c.argv) if {
	some i, c in input.facts.commands
	not i in harmless
	class := command_class(c)
	class != "pass"
}

# METADATA
# title: Commands that need no closer look, by their place
# description: |
#   The common case, for speed: command_class says the same of them, but a
#   call of a function costs more than all of this. The table is taken out of
#   data first, and words are looked up in it then: as parts of one path into
#   data, the word 0 would find the first item of a list. Of a list, no word may
#   even begin like one of those that make the command graver.
# custom:
#   risk: low
harmless contains i if {
	known := data.settings.commands
	as_seen := harmless_as_seen
	some i, c in input.facts.commands
	as_seen[c.seen][known[c.program]]
}

harmless contains i if {
	known := data.settings.commands
	as_seen := harmless_as_seen
	some i, c in input.facts.commands
	as_seen[c.seen][known[c.program][c.argv[1]]]
}

harmless contains i if {
	known := data.settings.commands
	as_seen := harmless_as_seen
	some i, c in input.facts.commands
	entry := known[c.program][c.argv[1]]
	as_seen[c.seen][entry[0]]
	not strings.any_prefix_match(c.argv, object.keys(entry[1]))
}

# METADATA
# title: The classes that are harmless, by how much of a command was seen
# description: Builds and tests run files of the project that nobody was shown.
# custom:
#   risk: low
harmless_as_seen := {
	"whole": {"pass", "build"},
	"but_files": {"build"},
}

command_class(c) := "unresolved" if {
	c.unresolved[0]
} else := "privilege" if {
	some via in c.via
	via in {"sudo", "su", "doas", "pkexec", "runuser"}
} else := bound("pass", c) if {
	only_looks(c)
} else := bound(class_of(command_entry(c.program, words(c)), c), c) if {
	command_entry(c.program, words(c))
} else := bound("unknown", c)

# METADATA
# title: A class, where files are run that nobody was shown
# description: Builds and tests run the project's own code, and are let through with it.
# custom:
#   risk: medium
bound("build", _) := "pass"

bound(class, _) := class if not class in {"build", "pass", "script", "unknown"}

bound(class, c) := "unbound" if {
	class in {"pass", "script", "unknown"}
	c.unbound[0]
} else := class if class in {"pass", "script", "unknown"}

command_entry(program, rest) := entry if {
	entry := data.settings.commands[program]
	not is_object(entry)
} else := entry if {
	table := data.settings.commands[program]
	entry := table[rest[0]]
	not is_object(entry)
} else := entry if {
	table := data.settings.commands[program]
	below := table[rest[0]]
	entry := below[rest[1]]
} else := entry if {
	table := data.settings.commands[program]
	count(rest) == 1
	below := table[rest[0]]
	entry := below[""]
}

class_of(entry, _) := entry if is_string(entry)

class_of(entry, c) := max(found) if {
	is_array(entry)
	found := {class | some word in c.argv; class := entry[1][split(word, "=")[0]]}
	count(found) > 0
} else := entry[0]

# METADATA
# title: The words after a program, without the options before its subcommand
# description: |
#   Only options are passed over that change nothing but where git works and
#   how it prints. After any other the subcommand stays unknown.
# custom:
#   risk: low
words(c) := array.slice(c.argv, 2, count(c.argv)) if {
	c.program == "git"
	c.argv[1] in {"--no-pager", "--no-optional-locks"}
} else := array.slice(c.argv, 3, count(c.argv)) if {
	c.program == "git"
	c.argv[1] == "-C"
} else := array.slice(c.argv, 1, count(c.argv))
