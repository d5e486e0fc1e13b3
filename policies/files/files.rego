package holdgate

# METADATA
# title: Files that the call would touch
# description: Each path is judged once, by the gravest thing that is true of it.
# custom:
#   risk: medium
decisions contains d if {
	input.facts.paths
	more_than_plain_paths
	some kind, about in paths_by_kind
	d := path_decision(kind, sort(about))
}

# METADATA
# title: Whether a path is not plainly harmless
# custom:
#   risk: low
more_than_plain_paths if {
	some p in input.facts.paths
	not plain_path(p)
}

# METADATA
# title: Paths that need no closer look
# description: The common case, for speed; path_kind says the same in full.
# custom:
#   risk: low
plain_path(p) if {
	p.access == "read"
	not p.class
	not p.self
	not regex.match(approvers_files, p.clean)
}

plain_path(p) if {
	p.access == "write"
	p.inside
	not p.class
	not p.self
	not regex.match(grave_names, lower(p.clean))
}

approvers_files := `(^|/)(approver\.token|holdgate\.sock)$|(^|/)\.local/state/holdgate(/|$)`

# METADATA
# title: What lets somebody decide, but for the public certificate, which clients trust
# custom:
#   risk: critical
lets_decide(path) if {
	regex.match(approvers_files, path)
	not endswith(path, "/holdgate/ca.pem")
}

production_names := `(^|[/._-])(prod|production)([/._-]|$)`

grave_names := `(^|/)(approver\.token|holdgate\.sock)$|(^|/)\.local/state/holdgate(/|$)|(^|[/._-])(prod|production)([/._-]|$)`

# METADATA
# title: The paths that are more than harmless, by what is grave about them
# custom:
#   risk: low
paths_by_kind[kind] contains p.clean if {
	some p in input.facts.paths
	kind := path_kind(p)
	kind != "pass"
}

path_kind(p) := "self" if {
	p.self
} else := "self" if {
	lets_decide(p.clean)
} else := "secret" if {
	p.class == "secret"
} else := "pass" if {
	p.access == "read"
} else := "persistence" if {
	p.class == "persistence"
} else := "system" if {
	p.class == "system"
	not writable(p)
} else := "production" if {
	regex.match(production_names, lower(p.clean))
	not startswith(p.clean, "/tmp/")
} else := "pass" if {
	p.fresh
} else := "delete" if {
	p.access == "delete"
} else := "pass" if {
	p.inside
} else := "pass" if {
	writable(p)
} else := "outside"

writable(p) if data.settings.files.writable[p.clean]

writable(p) if {
	p.access == "write"
	data.settings.files.writable[concat("/", array.slice(split(p.clean, "/"), 0, 2))]
}

deletes_paths if {
	some p in input.facts.paths
	p.access == "delete"
}

# METADATA
# title: What lets somebody decide held calls
# description: The token, the socket and the state folder.
# custom:
#   risk: critical
path_decision("self", about) := refuse("self_approval", "critical", "An agent does not decide its own calls.", about)

# METADATA
# title: Keys, tokens and other secrets
# description: To read them is enough.
# custom:
#   risk: high
path_decision("secret", about) := ask("secrets", "high", "The call reads or changes files that hold secrets.", about)

# METADATA
# title: Files that make something run later
# description: Start files, git hooks, settings of agents and editors, pipelines.
# custom:
#   risk: high
path_decision("persistence", about) := ask("persistence", "high", "The call changes files that make something run later by itself, or that steer the agent.", about)

# METADATA
# title: Files of the system
# description: To change them. Reading them passes.
# custom:
#   risk: high
path_decision("system", about) := ask("files.system", "high", "The call changes files of the system.", about)

# METADATA
# title: Configuration of production
# description: By a name that says prod or production.
# custom:
#   risk: high
path_decision("production", about) := ask("production.config", "high", "The call changes configuration of production.", about)

# METADATA
# title: Deleting files
# description: Whole folders are graver.
# custom:
#   risk: medium
path_decision("delete", about) := ask("files.delete", delete_risk, "The call deletes files.", about)

# METADATA
# title: Changing files outside the session's folder
# description: |
#   But for data.settings.files.writable. A program of whose words nothing is known
#   may change what they name.
# custom:
#   risk: medium
path_decision("outside", about) := ask("files.outside", "medium", "The call changes, or may change, files outside the session's folder.", about)

delete_risk := "high" if input.facts.impact.recursive

else := "medium"
