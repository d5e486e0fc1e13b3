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
	not regex.match(leaving, c.program)
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
#   project_code runs unread elsewhere, too. A file that the call itself writes does only in builds,
#   as it would in two calls.
# custom:
#   risk: high
harmless(reason, _) if reason in {"project_code", "unknown_library", "unread_text", "dynamic_name"}

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
	c.reasons == ["unread_text"]
	every word in array.slice(c.argv, 1, count(c.argv)) {
		not startswith(word, "-")
	}
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
