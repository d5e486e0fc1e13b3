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
	c.seen in {"whole", "but_project"}
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
	not told(class, c)
}

# METADATA
# title: Whether the facts tell what a command does, so that another rule judges it
# description: |
#   Each command for itself. Statements are judged in sql/sql.rego, unless more of them come
#   from a file, and deleted paths in files/files.rego.
# custom:
#   risk: low
told("database", c) if {
	c.sql
	not c.unbound[0]
}

told("delete", c) if c.deletes

command_class(c) := "self" if {
	decides(c)
} else := "disk" if {
	class_of(c) == "disk"
} else := "unresolved_privilege" if {
	c.unresolved[0]
	privileged(c)
} else := "unresolved" if {
	c.unresolved[0]
} else := "privilege" if {
	privileged(c)
} else := "tunnel" if {
	c.serves
} else := bound("pass", c) if {
	only_looks(c)
} else := bound("build", c) if {
	runs_own_image(c)
} else := "remote" if {
	only_asks(c)
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
# description: |
#   Builds and tests run the project's own code, and are let through with it. So
#   are its scripts, unless data.settings.project_scripts says "ask".
# custom:
#   risk: medium
bound("build", c) := "unbound" if {
	runs_elsewhere(c)
} else := "network" if {
	aims_elsewhere(c)
} else := "network" if {
	leads_elsewhere(c)
} else := "pass"

bound("project", c) := "unbound" if {
	runs_elsewhere(c)
} else := "unbound" if {
	asks_of_scripts
} else := "network" if {
	names_address(c)
} else := "pass"

bound("remote", c) := "unbound" if {
	runs_elsewhere(c)
} else := "unbound" if {
	asks_of_scripts
	c.unbound[0]
} else := "network" if {
	leads_elsewhere(c)
} else := "network" if {
	aims_elsewhere(c)
} else := "remote"

bound(class, _) := class if not class in {"build", "project", "remote", "pass", "assign", "script", "unknown"}

bound(class, c) := "unbound" if {
	class in {"pass", "assign", "script", "unknown"}
	runs_elsewhere(c)
} else := "unbound" if {
	class in {"pass", "assign", "script", "unknown"}
	asks_of_scripts
	c.unbound[0]
} else := "network" if {
	class == "pass"
	aims_elsewhere(c)
} else := class if class in {"assign", "pass", "script", "unknown"}

# METADATA
# title: Commands that run files from outside the project, or such as the call itself writes
# custom:
#   risk: medium
runs_elsewhere(c) if {
	some file in c.unbound
	not file in object.get(c, "project", [])
}

# Its steps run when the image is built.
runs_elsewhere(c) if {
	c.program in {"docker", "podman", "buildah", "nerdctl"}
	some word in c.argv
	word in {"build", "bake", "bud"}
	some p in input.facts.paths
	p.access == "write"
	regex.match(`(?i)(^|/)([^/]*dockerfile[^/]*|[^/]*containerfile[^/]*|docker-bake[^/]*)$`, p.clean)
}

asks_of_scripts if data.settings.project_scripts == "ask"

# METADATA
# title: Commands that name a host, where their program has one of its own
# description: What reads at the cluster, account or remote of the project passes; an address can be anybody's.
# custom:
#   risk: medium
leads_elsewhere(c) if {
	some i, word in c.argv
	i > 0
	regex.match(`^([A-Za-z][\w+.-]*://|ext::|[^/\s]+@[^/\s]+:)|=[A-Za-z][\w+.-]*://`, word)
	not near(regex.replace(word, `^[^/]*=([A-Za-z])`, "$1"))
	not its_own(c.program, word)
}

# METADATA
# title: Programs of the project that are told a host and a port elsewhere
# custom:
#   risk: medium
names_address(c) if {
	some i, word in c.argv
	i > 0
	regex.match(`^(--?[\w-]+=)?(([0-9]{1,3}\.){3}[0-9]{1,3}|([a-z0-9-]+\.)+[a-z]{2,}):[0-9]{2,5}$`, word)
	not near(regex.replace(word, `^--?[\w-]+=`, ""))
}

# METADATA
# title: Addresses at the service that a program is for
# custom:
#   risk: medium
its_own(_, word) if regex.match(`^(s3|gs)://`, word)

its_own("aws", word) if regex.match(`^https://[a-z0-9.-]+\.amazonaws\.com(/|$)`, word)

its_own("gh", word) if startswith(word, "https://github.com/")

its_own("glab", word) if startswith(word, "https://gitlab.com/")
