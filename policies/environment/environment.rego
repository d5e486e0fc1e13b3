package holdgate

# METADATA
# title: Environment that makes programs run other code or load other files
# description: |
#   data.settings.environment says by name what a variable may hold unasked. It
#   counts for every command, also for those that never read the variable:
#   which ones do is not known of all.
# custom:
#   risk: high
decisions contains d if {
	input.facts.commands
	more_than_plain
	count(steering) > 0
	d := ask("shell.environment", "high", "The command sets variables that make programs run other code or load other files.", sort(steering))
}

# METADATA
# title: Assignments that may hold anything but what the settings let pass
# description: |
#   Export is looked at itself too. A shell that lives on hands what it exports
#   to commands of later calls.
# custom:
#   risk: low
steering contains concat("=", [v.name, v.value]) if {
	some c in input.facts.commands
	some v in c.env
	steers(v)
}

steering contains word if {
	some c in input.facts.commands
	c.program in {"export", "declare", "typeset"}
	some word in c.argv
	at := indexof(word, "=")
	at > 0
	steers({"name": substring(word, 0, at), "value": substring(word, at + 1, -1), "unresolved": false})
}

steers(v) if {
	known := data.settings.environment
	may := known[v.name]
	not plain(may, v)
}

# METADATA
# title: Values that change nothing about which code runs
# description: |
#   What is not resolved is as it was written, and judged so. Where nothing in it
#   was left to run time, a branch decides between it and another value.
# custom:
#   risk: low
plain(may, v) if {
	is_string(may)
	not either(v)
	regex.match(concat("", ["^(?:", may, ")$"]), v.value)
}

plain(may, v) if {
	may.folders == "inside"
	not either(v)
	every folder in split(v.value, ":") {
		own_folder(folder, v.name)
	}
}

plain(may, v) if {
	may.folders == "search"
	kept := self_references(v.name)
	folders := split(v.value, ":")
	some folder in folders
	folder in kept
	every other in folders {
		search_folder(other, kept)
	}
}

either(v) if {
	v.unresolved == true
	not contains(v.value, "$")
}

self_references(name) := {concat("", ["$", name]), concat("", ["${", name, "}"])}

own_folder(folder, name) if folder in self_references(name)

own_folder(folder, _) if folder == ""

own_folder(folder, _) if folder in session_folders

own_folder(folder, _) if relative(folder)

own_folder(folder, _) if {
	some above in session_folders
	below := concat("", [above, "/"])
	startswith(folder, below)
	relative(trim_prefix(folder, below))
}

session_folders contains written if some written in ["$PWD", "${PWD}", "$(pwd)"]

session_folders contains input.session.cwd

relative(folder) if regex.match(`^(\.|\.?[\w-][\w.-]*)(/(\.|\.?[\w-][\w.-]*))*/?$`, folder)

search_folder(folder, kept) if folder in kept

# Agents write to folders for temporary files and to the session's own without
# being asked.
search_folder(folder, _) if {
	regex.match(`^(~|\$HOME|\$\{HOME\}|\$GOPATH|\$\(go env GOPATH\))?(/\.?[\w-][\w.+@-]*)+/?$`, folder)
	not regex.match(`^(/private)?(/var)?/tmp(/|$)|^/(dev/shm|var/folders|proc)(/|$)`, folder)
	not below_session(folder)
}

# What the project has installed: to write there is asked about.
search_folder(folder, _) if regex.match(`^((\$PWD|\$\{PWD\}|\$\(pwd\)|\.|(/[\w.-]+)+)/)?(node_modules/\.bin|\.?venv/bin|vendor/bin)/?$`, folder)

below_session(folder) if {
	cwd := input.session.cwd
	startswith(concat("", [folder, "/"]), concat("", [trim_suffix(cwd, "/"), "/"]))
}
