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
	input.facts.commands
	more_than_plain
	some class, about in commands_by_class
	d := command_decision(class, sort(about))
}

# METADATA
# title: Whether a command is not plainly harmless
# custom:
#   risk: low
more_than_plain if {
	some c in input.facts.commands
	not plain_command(c)
}

# METADATA
# title: Commands that need no closer look
# description: |
#   The common case, for speed; command_class says the same in full. They run as
#   they are written, in an environment that the line leaves alone. Builds and
#   tests may run files of the project that nobody was shown.
# custom:
#   risk: low
plain_command(c) if {
	c.class == "pass"
	c.seen == "whole"
	not c.env
}

plain_command(c) if {
	c.class == "build"
	c.seen
	not c.env
}

# METADATA
# title: The commands that are more than harmless, as text, by class
# custom:
#   risk: low
commands_by_class[class] contains concat(" ", c.argv) if {
	some c in input.facts.commands
	class := command_class(c)
	class != "pass"
}

command_class(c) := "self" if {
	decides(c)
} else := "unresolved_privilege" if {
	c.unresolved[0]
	privileged(c)
} else := "unresolved" if {
	c.unresolved[0]
} else := "privilege" if {
	privileged(c)
} else := bound("pass", c) if {
	only_looks(c)
} else := bound(class_of(c), c)

# METADATA
# title: Commands that decide held calls, or name what lets somebody decide them
# description: Of programs that are well known the facts tell which files they touch.
# custom:
#   risk: critical
decides(c) if class_of(c) == "self"

decides(c) if {
	not class_of(c) in {"pass", "build"}
	some word in c.argv
	lets_decide(word)
}

# METADATA
# title: Commands that run as somebody else
# custom:
#   risk: high
privileged(c) if {
	some via in c.via
	via in {"sudo", "su", "doas", "pkexec", "runuser"}
}

# METADATA
# title: A class, where files are run that nobody was shown
# description: Builds and tests run the project's own code, and are let through with it.
# custom:
#   risk: medium
bound("build", _) := "pass"

bound(class, _) := class if not class in {"build", "pass", "assign", "script", "unknown"}

bound(class, c) := "unbound" if {
	class in {"pass", "assign", "script", "unknown"}
	c.unbound[0]
} else := class if class in {"assign", "pass", "script", "unknown"}

# METADATA
# title: What the settings call a command
# description: Holdgate has looked it up already, but for inputs that are written by hand.
# custom:
#   risk: low
class_of(c) := c.class if {
	c.class
} else := class_with_words(command_entry(c.program, words(c)), c.argv) if {
	command_entry(c.program, words(c))
} else := "unknown"

command_entry(program, rest) := entry if {
	entry := data.settings.commands[program]
	not is_object(entry)
} else := entry if {
	table := data.settings.commands[program]
	entry := table[word_at(rest, 0)]
	not is_object(entry)
} else := entry if {
	table := data.settings.commands[program]
	below := table[word_at(rest, 0)]
	entry := below[word_at(rest, 1)]
}

# METADATA
# title: A word by its place, or none
# custom:
#   risk: low
word_at(rest, i) := rest[i] if count(rest) > i

else := ""

class_with_words(entry, _) := entry if is_string(entry)

class_with_words(entry, argv) := max(found) if {
	is_array(entry)
	found := {class | some word in argv; class := entry[1][split(word, "=")[0]]}
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
