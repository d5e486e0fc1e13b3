package holdgate

# METADATA
# title: Deletions that containment spares
# description: |
#   What lies in the /tmp of the run goes with it, what the call has itself put there was
#   not there before, and what a build makes is made again. Undo brings the last two back.
#   Each deletion of the call must be such a one, and the paths must tell all of them.
# custom:
#   risk: high
spared(d) if {
	d.rule == "files.delete"
	contained
	runs_within
	deletes_paths
	every p in input.facts.paths {
		not lost(p)
	}
	every c in input.facts.commands {
		tells_deletions(c)
	}
}

# METADATA
# title: Changes outside that containment spares
# description: |
#   The place is known at run time only, or depends on whether the call could go to a folder
#   before. The kernel refuses all that lies outside. What names such a place by itself is
#   asked about.
# custom:
#   risk: high
spared(d) if {
	d.rule == "files.outside"
	contained
	runs_within
	every p in input.facts.paths {
		not leads_out(p)
	}
	not leaves_run
}

leaves_run if {
	some c in input.facts.commands
	not stays_within(c)
}

lost(p) if {
	path_kind(p) == "delete"
	not of_the_run(p)
	not made_again(p)
}

leads_out(p) if {
	path_kind(p) == "outside"
	not of_the_run(p)
	not within_perhaps(p)
}

# METADATA
# title: Whether a path lies in the folder for temporary files that the run has for itself
# custom:
#   risk: high
of_the_run(p) if {
	not p.inside
	not p.class
	regex.match(`^/(tmp|dev/shm)/[^$\x60]+$`, p.clean)
	startswith(input.session.cwd, "/")
	not regex.match(`^(/private)?(/var)?/(tmp|dev/shm)(/|$)`, input.session.cwd)
	input.session.cwd != "/"
}

# METADATA
# title: Whether what is deleted was not there before the call, or the project's tools make it again
# custom:
#   risk: high
made_again(p) if {
	p.inside
	not p.class
	p.made
}

made_again(p) if {
	p.inside
	not p.class
	names := split(trim_prefix(p.clean, input.session.cwd), "/")
	not ".git" in names
	some name in names
	regex.match(rebuilt, name)
}

rebuilt := `^(dist|build|out|target|coverage|htmlcov|\.nyc_output|__pycache__|\.(pytest|mypy|ruff|parcel|eslint|stylelint)_?-?cache|\.(next|nuxt|turbo|vite|svelte-kit|angular|output|tox|nox|coverage|eslintcache|tsbuildinfo)|\.cache|cmake-build-\w+|test-results|playwright-report|storybook-static|\*?\.py[co]|[\w*.-]+\.(tsbuildinfo|py[co]))$`

# METADATA
# title: Whether a relative path lies in the session's folder where all goes as it is meant to
# custom:
#   risk: high
within_perhaps(p) if {
	p.access == "write"
	not names_place(p)
	some q in input.facts.paths
	q.path == p.path
	q.inside
}

within_perhaps(p) if {
	p.access == "write"
	not names_place(p)
	contains(p.path, "$")
	not regex.match(`^[/~]`, p.clean)
	not regex.match(`(^|/)\.\.(/|$)`, p.path)
}

names_place(p) if regex.match(`^[/~]|\$\{?(HOME|XDG_|USERPROFILE|APPDATA|GO|CARGO|ZDOTDIR|OLDPWD)`, p.path)

tells_deletions(c) if {
	stays_within(c)
	not command_class(c) == "delete"
}

tells_deletions(c) if {
	stays_within(c)
	c.deletes
}

# METADATA
# title: Whether a command runs where the agent is, and with its rights
# custom:
#   risk: high
stays_within(c) if {
	not privileged(c)
	every via in object.get(c, "via", []) {
		not regex.match(leaving, via)
	}
}
