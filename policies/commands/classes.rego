package holdgate

# METADATA
# title: Words that depend on run time
# description: "Such as variables that nothing in the line sets: the command could be any."
# custom:
#   risk: medium
command_decision("unresolved", about) := ask("shell.unresolved", "medium", concat(" ", array.concat(["What the command does depends on values that are not known before it runs."], because("unresolved"))), about)

# METADATA
# title: Words that depend on run time, as somebody else
# description: "Such as what curl brings for sudo bash to run."
# custom:
#   risk: high
command_decision("unresolved_privilege", about) := ask("shell.unresolved", "high", concat(" ", array.concat(["The command runs with the rights of another user, and what it does depends on values that are not known before it runs."], because("unresolved_privilege"))), about)

# METADATA
# title: Files that would be run and that nobody was shown
# description: The file may have been changed since, also by the agent.
# custom:
#   risk: medium
command_decision("unbound", about) := ask("shell.unbound", "medium", concat(" ", array.concat(["The command runs a file whose content is not part of the call, or was not understood."], because("unbound"))), about)

# METADATA
# title: Programs that the settings do not know
# description: A line in data.settings.commands says what they are.
# custom:
#   risk: medium
command_decision("unknown", about) := ask("shell.unknown", "medium", "The command is not one that the policy knows to be harmless.", about)

# METADATA
# title: Code on the command line, and shells that read it from elsewhere
# description: "perl -e, xargs, tar: what they do is in no word that the facts can read."
# custom:
#   risk: medium
command_decision("script", about) := ask("shell.script", "medium", concat(" ", array.concat(["The command runs code that the policy does not understand."], because("script"))), about)

# METADATA
# title: Running as somebody else
# description: By sudo and its kin, whatever is run.
# custom:
#   risk: high
command_decision("privilege", about) := ask("shell.privilege", "high", "The command runs with the rights of another user.", about)

# METADATA
# title: Deleting files with a command
# description: Where facts tell which files, the rule of files/files.rego asks the question.
# custom:
#   risk: medium
command_decision("delete", about) := ask("files.delete", "medium", "The command deletes files.", about)

# METADATA
# title: Overwriting disks and file systems
# description: dd, mkfs and the like. Nothing brings back what they overwrite.
# custom:
#   risk: critical
command_decision("disk", about) := ask("shell.disk", "critical", "The command can overwrite a disk or a file system.", about)

# METADATA
# title: Services, processes, users and rights of the machine
# description: "Containers and terminals of others count too: they lead out of the session."
# custom:
#   risk: high
command_decision("system", about) := ask("shell.system", "high", "The command changes the machine itself: its services, processes, users or rights.", about)

# METADATA
# title: What runs later by itself
# description: Timers, aliases, traps, git configuration.
# custom:
#   risk: high
command_decision("persist", about) := ask("persistence", "high", "The command changes what runs later by itself.", about)

# METADATA
# title: Commands that print or use credentials
# description: The environment often holds keys, so printing it counts.
# custom:
#   risk: high
command_decision("secret", about) := ask("secrets", "high", "The command prints or uses credentials.", about)

# METADATA
# title: Installing packages
# description: Packages run code of strangers when they are installed.
# custom:
#   risk: medium
command_decision("install", about) := ask("packages.install", "medium", "The command installs packages.", about)

# METADATA
# title: Publishing packages, images and releases
# description: What is published is fetched by others and cannot be taken back.
# custom:
#   risk: high
command_decision("publish", about) := ask("publish", "high", "The command publishes something for others to use.", about)

# METADATA
# title: Commands that reach the network
# description: They can carry data away, and bring code.
# custom:
#   risk: medium
command_decision("network", about) := ask("network.command", "medium", "The command reaches the network.", about)

# METADATA
# title: Ways into this machine from outside
# description: Programs that let others reach a port of this machine.
# custom:
#   risk: high
command_decision("tunnel", about) := ask("network.tunnel", "high", "The command lets others reach this machine.", about)

# METADATA
# title: Deployments and changes of infrastructure
# description: Clouds, clusters, and the deploy targets of build tools.
# custom:
#   risk: high
command_decision("deploy", about) := ask("production.deploy", "high", "The command changes what is deployed.", about)

# METADATA
# title: Database clients
# description: What statements they carry is judged in sql/sql.rego; without one the client reads them from elsewhere.
# custom:
#   risk: medium
command_decision("database", about) := ask("sql.unseen", "medium", "The command talks to a database, and what it says there is not in the call.", about)

# METADATA
# title: Pushing commits
# description: Others see them from then on.
# custom:
#   risk: medium
command_decision("git_push", about) := ask("git.push", "medium", "The command pushes commits.", about) if not pushes_over(about)

# METADATA
# title: Pushes that overwrite or delete what others see
# description: By an option.
# custom:
#   risk: high
command_decision("git_force", about) := ask("git.force_push", "high", "The command overwrites or deletes branches that others see.", about)

# METADATA
# title: Pushes of refs that overwrite by a plus, or delete by a colon
# description: The same as by an option, written in the ref.
# custom:
#   risk: high
command_decision("git_push", about) := ask("git.force_push", "high", "The command overwrites or deletes branches that others see.", about) if pushes_over(about)

# METADATA
# title: Throwing away work that git keeps or has not kept yet
# description: Resets, cleaning, deleted branches.
# custom:
#   risk: medium
command_decision("git_discard", about) := ask("git.discard", "medium", "The command throws away work in the repository.", about)

# METADATA
# title: Deciding the own calls
# description: An agent does not decide what it is asked about.
# custom:
#   risk: critical
command_decision("self", about) := refuse("self_approval", "critical", "An agent does not decide its own calls.", about)

pushes_over(about) if {
	some text in about
	regex.match(` [+:]\S`, text)
}

# METADATA
# title: Classes that the settings name and the pack does not know
# description: A slip in a table is asked about, not overlooked.
# custom:
#   risk: medium
command_decision(class, about) := ask("shell.unknown", "medium", "The settings give the command a class that the policy does not know.", about) if not class in known_classes

known_classes := {
	"project", "remote", "unresolved", "unresolved_privilege", "unbound", "unknown", "script", "assign", "privilege", "delete", "disk", "system", "persist", "secret", "install",
	"publish", "network", "tunnel", "deploy", "database", "git_push", "git_force", "git_discard", "self",
}
