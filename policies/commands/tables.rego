package holdgate

# METADATA
# title: What the settings call a command
# description: |
#   Holdgate has looked it up already, but for inputs that are written by hand.
#   For those the rest of this file says the same as Holdgate does.
# custom:
#   risk: low
class_of(c) := c.class if {
	c.class
} else := "pass" if {
	count(c.argv) == 2
	c.argv[1] in {"--version", "--help"}
	not c.program in starters
} else := "pass" if {
	found := looked_up(c)
	found.help
} else := class_with_words(found.entry, found.path, c.argv, found.rest) if {
	found := looked_up(c)
} else := "unknown"

# METADATA
# title: Programs that run what their first word names, or read it as code
# description: For some of them, and in some shells, --help is the name of a program.
# custom:
#   risk: medium
starters := {
	".", "alias", "builtin", "command", "coproc", "enable", "env", "eval", "exec", "noglob", "nocorrect", "source", "time", "trap",
	"ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "posh", "rbash", "sh", "tcsh", "toybox", "yash", "zsh",
	"chroot", "chrt", "doas", "fakeroot", "flock", "gtime", "ionice", "ltrace", "nice", "nohup", "nsenter", "parallel", "pkexec", "proot", "runuser",
	"setarch", "setsid", "setpriv", "script", "ssh", "start-stop-daemon", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "timeout", "gtimeout", "unbuffer", "unshare", "valgrind", "watch", "xargs",
}

# METADATA
# title: The name that the tables have of a program
# description: A version at its end is left out, as in python3.12.
# custom:
#   risk: low
tabled(program) := program if {
	data.settings.commands[program]
} else := regex.replace(program, `^(python|pip|pydoc|ruby|node|php|lua|perl|go|gcc|g\+\+|clang|clang\+\+|clang-format|clang-tidy)-?[0-9][0-9.]*$`, "$1")

# METADATA
# title: What the table of commands has of a command, at most four words deep
# description: path is the program with its subcommand, entry what stands there.
# custom:
#   risk: low
looked_up(c) := leaf(entry4(c)) if {
	entry4(c)
} else := leaf(entry3(c)) if {
	entry3(c)
} else := leaf(entry2(c)) if {
	entry2(c)
} else := leaf(entry1(c)) if {
	entry1(c)
} else := leaf(entry0(c))

leaf(found) := found if {
	found.help
} else := {"path": found.path, "entry": found.entry, "help": true} if {
	not is_object(found.entry)
	found.rest == ["--help"]
	not split(found.path, " ")[0] in starters
} else := found if not is_object(found.entry)

entry0(c) := {"path": program, "entry": data.settings.commands[program], "rest": array.slice(c.argv, 1, count(c.argv)), "project": object.get(c, "project", [])} if {
	program := tabled(c.program)
	data.settings.commands[program]
} else := {"path": c.program, "entry": data.settings.commands["./"], "rest": array.slice(c.argv, 1, count(c.argv)), "project": c.project} if {
	c.argv[0] in c.project
}

entry1(c) := below(entry0(c))

entry2(c) := below(entry1(c))

entry3(c) := below(entry2(c))

entry4(c) := below(entry3(c))

below(found) := {"path": found.path, "entry": found.entry, "rest": [], "help": true} if {
	is_object(found.entry)
	subcommands(found) == ["--help"]
	not split(found.path, " ")[0] in starters
} else := {"path": concat(" ", array.concat([found.path], named)), "entry": entry, "rest": array.slice(rest, 1, count(rest)), "project": found.project} if {
	is_object(found.entry)
	rest := subcommands(found)
	word := word_at(rest, 0)
	entry := found.entry[key_of(found, word)]
	named := [word | word != ""; not startswith(word, "-")]
}

# METADATA
# title: The key of a table for a word, for the file of the project that it names, or for its longest beginning
# custom:
#   risk: low
key_of(found, word) := word if {
	found.entry[word]
} else := base_name(word) if {
	word in found.project
	not startswith(word, "-")
	found.entry[base_name(word)]
} else := "./" if {
	word in found.project
	not startswith(word, "-")
	found.entry["./"]
} else := concat("", [substring(word, 0, max(lengths)), "*"]) if {
	word != ""
	not startswith(word, "-")
	lengths := {n | some n in numbers.range(0, count(word)); found.entry[concat("", [substring(word, 0, n), "*"])]}
}

base_name(word) := regex.replace(word, `^.*/`, "")

# METADATA
# title: A word by its place, or none
# custom:
#   risk: low
word_at(rest, i) := rest[i] if count(rest) > i

else := ""

# METADATA
# title: The words from the next subcommand on
# description: |
#   Options that data.settings.grammars has of the program and subcommand are passed
#   over, with their values. After any other the subcommand stays unknown.
# custom:
#   risk: low
subcommands(found) := array.slice(found.rest, min(starts), count(found.rest)) if {
	starts := {i | some i, _ in found.rest; not passed_over(found, i)} | {count(found.rest)}
}

passed_over(found, i) if {
	is_passed(found, found.rest[i])
	not is_value(found, i)
}

passed_over(found, i) if is_value(found, i)

is_value(found, i) if {
	i > 0
	word := found.rest[i - 1]
	not found.entry[word]
	data.settings.grammars[found.path][word] != false
}

is_passed(found, word) if {
	startswith(word, "-")
	not found.entry[word]
	_ = data.settings.grammars[found.path][split(word, "=")[0]]
}

is_passed(found, word) if {
	regex.match(`^-[^-]`, word)
	not found.entry[word]
	data.settings.grammars[found.path][substring(word, 0, 2)] != false
}

# METADATA
# title: A class with regard to the words that change it
# description: Of several the strictest counts, or the last by name of those that are as strict.
# custom:
#   risk: low
class_with_words(entry, _, _, _) := entry if is_string(entry)

class_with_words(entry, path, argv, rest) := max(strict) if {
	is_array(entry)
	strict := words_found(entry, path, argv, rest) - quiet_classes
	count(strict) > 0
} else := max(found) if {
	is_array(entry)
	found := words_found(entry, path, argv, rest)
	count(found) > 0
} else := entry[0] if is_array(entry)

quiet_classes := {"pass", "build", "project", "remote", "assign"}

words_found(entry, path, argv, rest) := loud | soft if {
	loud := {class | some changing, class in entry[1]; not class in quiet_classes; holds_word(path, argv, rest, changing)}
	soft := {class | some changing, class in entry[1]; class in quiet_classes; says_word(path, argv, changing)}
}

# METADATA
# title: Whether a word that makes a command stricter could be one of its words
# description: An empty one is for a command without any, and a dollar at the end is for the last.
# custom:
#   risk: low
holds_word(_, argv, _, "") if count(argv) == 1

holds_word(_, argv, _, changing) if {
	endswith(changing, "$")
	argv[count(argv) - 1] == trim_suffix(changing, "$")
}

holds_word(path, argv, _, changing) if {
	changing != ""
	not regex.match(`^-[^-]$`, changing)
	some i, word in argv
	not option_value(path, argv, i, changing)
	names_word(path, word, changing)
}

# A short option before the subcommand is the program's own.
holds_word(path, _, rest, changing) if {
	regex.match(`^-[^-]$`, changing)
	some i, word in rest
	not option_value(path, rest, i, changing)
	names_word(path, word, changing)
}

# What an option takes is no option.
option_value(path, words, i, changing) if {
	startswith(changing, "-")
	i > 0
	startswith(words[i - 1], "-")
	data.settings.grammars[path][words[i - 1]] != false
}

# METADATA
# title: Whether a word that makes a command harmless stands there beyond doubt
# description: |
#   As it is written in the table, where it cannot be the value of an option,
#   before "--", and not taken back by another option.
# custom:
#   risk: medium
says_word(path, argv, changing) if {
	ends := {i | some i, "--" in argv} | {count(argv)}
	before := array.slice(argv, 0, min(ends))
	some i, word in before
	word == changing
	i > 0
	not takes_next(path, before[i - 1])
	taken := [word | some word in before; takes_back(word, changing)]
	count(taken) == 0
}

takes_back(word, changing) if {
	word != changing
	split(word, "=")[0] == split(changing, "=")[0]
}

takes_back(word, changing) if split(word, "=")[0] == concat("", ["--no-", trim_left(split(changing, "=")[0], "-")])

takes_next(path, word) if {
	startswith(word, "-")
	not contains(word, "=")
	not data.settings.grammars[path][word] == false
}

# METADATA
# title: Whether a word of a command is, or can be read as, a word of the table
# description: An option cut short or among others that share its dash, or a part of a list.
# custom:
#   risk: low
names_word(_, word, changing) if split(word, "=")[0] == changing

names_word(_, word, changing) if word == changing

names_word(path, word, changing) if {
	startswith(changing, "--")
	not contains(changing, "=")
	name := split(word, "=")[0]
	count(name) > 2
	startswith(changing, name)
	not known_option(path, name)
}

known_option(path, name) if _ = data.settings.grammars[path][name]

names_word(path, word, changing) if {
	regex.match(`^-[^-]$`, changing)
	regex.match(`^-[^-].`, word)
	some i in numbers.range(1, count(word) - 1)
	substring(word, i, 1) == substring(changing, 1, 1)
	valued := [j | some j in numbers.range(1, i); j < i; data.settings.grammars[path][concat("", ["-", substring(word, j, 1)])] != false]
	count(valued) == 0
}

names_word(_, word, changing) if {
	not startswith(word, "-")
	not startswith(changing, "*")
	endswith(changing, "*")
	startswith(word, trim_suffix(changing, "*"))
}

# METADATA
# title: Whether a word is the name of a task or a script with that part
# description: As in deploy-api and scripts/api_deploy.sh. One that only looks, by another part, is none.
# custom:
#   risk: low
names_word(_, word, changing) if {
	regex.match(`^\*.+\*$`, changing)
	not startswith(word, "-")
	not contains(word, "=")
	not regex.match(`\.(md|json|txt|ya?ml|csv|html|lock|toml|log|png)$`, word)
	parts := {part | some part in regex.split(`[^a-z0-9]+`, lower(base_name(word)))}
	trim(changing, "*/") in parts
	parted(word, changing)
	count(parts & looking_parts) == 0
}

parted(_, changing) if not startswith(changing, "*/")

parted(word, changing) if {
	startswith(changing, "*/")
	regex.match(`[/.:_-]`, word)
}

looking_parts := {"build", "check", "docs", "dry", "lint", "list", "notes", "plan", "preview", "spec", "status", "test", "tests", "validate"}

names_word(_, word, changing) if {
	not startswith(word, "-")
	not startswith(changing, "-")
	not startswith(changing, "*")
	not changing == "."
	some part in split(word, ",")
	split(part, "/")[0] == changing
}

# METADATA
# title: The words after a program, from its subcommand on
# custom:
#   risk: low
words(c) := subcommands({
	"path": tabled(c.program),
	"entry": object.get(data.settings.commands, tabled(c.program), {}),
	"rest": array.slice(c.argv, 1, count(c.argv)),
	"project": [],
})
