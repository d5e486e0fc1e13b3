package holdgate

# METADATA
# title: Questions that containment spares
# description: |
#   Code that nobody has read needs no person where the run is contained: what it changes
#   can be taken back or goes with the run, and what it sends is asked about. It is spared
#   only where the facts say why it was not read (reasons), and each of them is harmless
#   there. All other commands of the call that are not known in full must pass so, too.
# custom:
#   risk: high
spared(d) if {
	d.rule in {"shell.unbound", "shell.unresolved", "shell.script"}
	unread_passes
	runs_within
	count(unread_commands) > 0
	every c in unread_commands {
		passes_unread(c)
	}
}

# METADATA
# title: Arithmetic on what is known at run time only
# description: |
#   The shell takes such a text for an expression, and a command in it would run. Nobody can
#   see that before, and it is bounded as all code of the run is.
# custom:
#   risk: high
spared(d) if {
	d.rule == "tools.unreadable"
	unread_passes
	runs_within
	every problem in input.facts.parse_errors {
		startswith(problem, "shell: evaluates text that may run a command: ")
	}
	every c in object.get(input.facts, "commands", []) {
		stays_within(c)
	}
}

# METADATA
# title: Whether unread code may pass
# description: |
#   As data.settings.unread_code says: contained where all is proven and what a contained
#   run sends is asked about, everywhere, or ask.
# custom:
#   risk: high
unread_passes if {
	data.settings.unread_code == "contained"
	contained
	data.settings.containment.hosts != "auto"
	data.settings.containment.accounts != "auto"
}

unread_passes if data.settings.unread_code == "everywhere"

# METADATA
# title: Whether the tool runs what it is given where the agent itself is
# description: What a server's tool runs is not confined with the agent.
# custom:
#   risk: high
runs_within if {
	not input.tool.server
	regex.match(`^\w+$`, input.tool.name)
	not contains(input.tool.name, "__")
}

unread_commands contains c if {
	some c in input.facts.commands
	command_class(c) in {"unbound", "unresolved", "unresolved_privilege", "script"}
}

passes_unread(c) if patches(c)

passes_unread(c) if {
	c.reasons[0]
	every reason in c.reasons {
		harmless(reason, c)
	}
	understood(c)
	stays_within(c)
	not leads_elsewhere(c)
	not aims_elsewhere(c)
	not names_address(c)
}

# METADATA
# title: Ways to run a command that may lead it out of the run, or beyond it
# custom:
#   risk: high
leaving := `^(sudo|su|doas|pkexec|runuser|run0|ssh|docker|podman|nerdctl|kubectl|oc|nsenter|chroot|machinectl|lxc|vagrant|wsl|adb|at|batch|nohup|setsid|systemd-run|start-stop-daemon|screen|tmux|trap|alias)\b`

# METADATA
# title: Whether a reason why a command is not known in full needs no person within a contained run
# description: |
#   project_code runs unread elsewhere, too. So does a file that lies in the /tmp of the run: nobody
#   but the run has put it there. A file that the call itself writes does only in builds, as it would
#   in two calls.
# custom:
#   risk: high
harmless(reason, _) if reason in {"project_code", "unknown_library", "unread_text", "dynamic_name"}

harmless("temp_file", _) if of_the_run({"clean": "/tmp/x", "inside": false})

harmless("own_file", c) if class_of(c) in {"build", "pass"}

# METADATA
# title: Whether all of a command is known but for what its reasons say
# description: |
#   The tables know what it does, or it runs code that stands in the call, and is told nothing
#   else: programs that nobody knows, and those that run what they are told, are no such.
# custom:
#   risk: high
understood(c) if class_of(c) in {"pass", "build", "project", "assign"}

understood(c) if {
	class_of(c) == "script"
	"unread_text" in c.reasons
}

understood(c) if {
	class_of(c) == "unknown"
	runs_code(c)
	every reason in c.reasons {
		reason in {"unread_text", "unknown_library", "temp_file", "dynamic_name", "project_code"}
	}
	every i, word in c.argv {
		plain_argument(c, i, word)
	}
}

runs_code(c) if c.unbound[0]

runs_code(c) if "unread_text" in c.reasons

# METADATA
# title: Whether a word makes no more of a program that was just built than its code does
# description: |
#   What an interpreter is told by options may be code. The program itself reads its own.
# custom:
#   risk: high
plain_argument(_, 0, word) if not contains(word, "$")

plain_argument(c, i, _) if {
	i > 0
	regex.match(`^(/tmp/|\./)`, c.argv[0])
}

plain_argument(_, i, word) if {
	i > 0
	not regex.match(`^-.`, word)
}

plain_argument(c, i, word) if {
	i > 0
	c.program == "java"
	regex.match(`^-(jar|cp|classpath|ea|Xm[sx]\w+|D[a-z][\w.]*=[\w./-]*)$`, word)
}

# Behind the program's own file all words are its own.
plain_argument(c, i, word) if {
	startswith(word, "-")
	some j, file in c.argv
	j in numbers.range(1, i - 1)
	file in c.unbound
	count([option | some k, option in c.argv; k > 0; k < j; startswith(option, "-")]) == 0
}

# METADATA
# title: Why commands of a class are not known in full, in words
# description: What is harmless in a contained run is not said.
# custom:
#   risk: low
because(class) := sort({said |
	some c in input.facts.commands
	command_class(c) == class
	some reason in c.reasons
	said := reason_said[reason]
})

reason_said := {
	"computed_code": "Its text is computed.",
	"credential": "It reads secrets.",
	"known_sink": "It can delete, run, send.",
	"later": "It names what runs later.",
	"outside_path": "It names a path outside.",
	"privilege": "It asks for rights.",
	"remote_code": "It fetches code.",
	"unparsed": "It cannot be parsed.",
	"own_file": "The call writes it.",
}

# METADATA
# title: Patches of the project's files, which a later command of the line may run
# custom:
#   risk: high
patches(c) if {
	c.program == "git"
	c.argv[1] in {"apply", "am"}
	not c.env
	every via in object.get(c, "via", []) {
		via in {"bash -c", "sh -c", "zsh -c", "time", "timeout"}
	}
	every word in array.slice(c.argv, 2, count(c.argv)) {
		regex.match(`^(-[pCv0-9R3q]+|--(index|3way|check|stat|verbose|reverse|recount|cached|numstat|summary|whitespace=[a-z]+)|-|(/tmp/)?[\w.-]+(/[\w.-]+)*\.(patch|diff))$`, word)
		not regex.match(`(^|/)\.\.(/|$)`, word)
	}
}
