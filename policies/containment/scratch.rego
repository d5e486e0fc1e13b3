package holdgate

# METADATA
# title: Deletions that containment spares
# description: |
#   What lies in the /tmp of the run goes with it, what the call has itself put there was
#   not there before, and what tools make is made again. Undo brings the last two back.
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
#   The place depends on whether the call could go to a folder before. The kernel refuses
#   all that lies outside. What names such a place by itself is asked about.
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
	p.perhaps
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
# description: What a pattern meets may be another folder, if it stands for dots.
# custom:
#   risk: high
of_the_run(p) if {
	not p.inside
	not p.class
	regex.match(`^/(tmp|dev/shm)(/[\w%+=:,@-][\w%+=:,@.*-]*|/\*)+$`, p.clean)
	startswith(input.session.cwd, "/")
	not regex.match(`^(/private)?(/var)?/(tmp|dev/shm)(/|$)`, input.session.cwd)
	input.session.cwd != "/"
	not names_anew
}

# METADATA
# title: Whether what is deleted was not there before the call, or the project's tools make it again
# description: |
#   A whole folder by its own name, where no sources lie, and into which the call itself has put
#   nothing: it may have moved there what is none of a build.
# custom:
#   risk: high
made_again(p) if {
	p.made
	place_of(p)
}

made_again(p) if {
	name := place_of(p)
	regex.match(`^([\w@-][\w@.-]*/)*(dist|coverage|htmlcov|playwright-report|test-results|storybook-static|\.(next|nuxt|turbo|nyc_output))$`, name)
	not regex.match(`(^|/)(src|app|apps?/\w+/src|lib|pages|source|pkg|internal|cmd|tests?|docs|node_modules|vendor)/`, name)
	untouched(p)
}

made_again(p) if {
	name := place_of(p)
	regex.match(`^(\*\*/|[\w@-][\w@.-]*/)*(__pycache__|\.(pytest|mypy|ruff)_cache|\*\.py[co])$`, name)
	untouched(p)
}

# METADATA
# title: Where in the session's folder a path lies that is none of git's or another history's
# custom:
#   risk: high
place_of(p) := name if {
	p.inside
	not p.class
	begin := concat("", [trim_suffix(input.session.cwd, "/"), "/"])
	startswith(p.clean, begin)
	name := trim_prefix(p.clean, begin)
	not regex.match(`(?i)(^|/)([^/]*\.git|\.hg|\.svn|\.jj)(/|$)`, name)
}

untouched(p) if {
	every q in input.facts.paths {
		not put_into(q, p)
	}
	not names_anew
}

# METADATA
# title: Whether the call gives other names to what was there before
# custom:
#   risk: high
names_anew if {
	some c in input.facts.commands
	c.program in {"ln", "link", "rename", "mount"}
}

names_anew if {
	some c in input.facts.commands
	c.program == "mv"
	some w in c.argv
	not regex.match(`^(mv|-\w+|(/tmp|/dev/shm)/[^$*?\x60]*)$`, w)
}

names_anew if {
	some c in input.facts.commands
	c.program == "cp"
	some w in c.argv
	regex.match(`^-\w*[sl]|^--(sy|l)`, w)
}

put_into(q, p) if {
	q.access == "write"
	startswith(q.clean, p.clean)
}

put_into(q, p) if {
	q.access == "write"
	startswith(p.clean, q.clean)
}

# METADATA
# title: Whether a relative path lies in the session's folder where all goes as it is meant to
# custom:
#   risk: high
within_perhaps(p) if {
	p.access == "write"
	not regex.match(`^[/~]|[$\x60]`, p.path)
	some q in input.facts.paths
	q.path == p.path
	q.access == "write"
	q.inside
}

tells_deletions(c) if {
	stays_within(c)
	not command_class(c) == "delete"
}

tells_deletions(c) if {
	stays_within(c)
	c.deletes
	not "parallel" in object.get(c, "via", []) # which may have it run elsewhere
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
