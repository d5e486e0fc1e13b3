package holdgate

# METADATA
# title: Questions that containment spares
# description: |
#   Code that nobody has read needs no person where the run is contained: what it changes
#   can be taken back or goes with the run, and what it sends is asked about. It is spared
#   only in forms all of whose words are known here; any other is asked about all the same.
# custom:
#   risk: high
spared(d) if {
	d.rule == "shell.unbound"
	unread_passes
	every c in unread_commands {
		patches(c)
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

unread_commands contains c if {
	some c in input.facts.commands
	command_class(c) == "unbound"
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
