package holdgate_test

import data.holdgate

tables := {
	"ctl": {"get": ["remote", {"secret": "secret", "--server": "network", "-f": "script"}], "config": {"view": "pass", "set-*": "persist"}, "delete": "deploy"},
	"cloud": {"*": {"*": {"list-*": "remote", "*": "deploy"}}, "beta": {"*": {"*": {"show": "pass"}}}},
	"set": ["pass", {"": "secret", "-x$": "secret"}],
	"gcc": ["build", {"deploy*": "deploy"}],
	"tool": ["build", {"deploy*": "deploy", "--force": "git_force", "--dry-run": "pass", "--try=none": "script"}],
}

grammars := {"ctl": {"-n": "namespace", "--context": "context", "-v": false}, "tool": {"-o": true, "--for": false}}

classes(lines) := [class |
	some line in lines
	argv := split(line, " ")
	class := holdgate.class_of({"program": argv[0], "argv": argv})
]

test_files_of_the_project_are_found_by_name_or_as_one if {
	table := {"run": {"manage.py": {"check": "pass"}, "./": ["project", {"*deploy*": "deploy"}]}, "./": ["project", {"*deploy*": "deploy", "*/release*": "publish"}], "make": ["build", {"*deploy*": "deploy"}]}
	got := [class |
		some line in ["run manage.py check", "run sub/manage.py check", "run x/deploy.py", "run x/print.py deploy.md", "run y.py", "x/deploy-all.sh", "x/print.sh", "y.sh", "make check-deploy X=deploy", "x/print.sh release", "x/print.sh pre-release"]
		argv := split(line, " ")
		class := holdgate.class_of({"program": regex.replace(argv[0], ".*/", ""), "argv": argv, "project": ["sub/manage.py", "x/deploy.py", "x/print.py", "x/print.sh", "x/deploy-all.sh"]}) with data.settings.commands as table
	]
	got == ["pass", "pass", "deploy", "project", "unknown", "deploy", "project", "unknown", "build", "project", "publish"]
}

test_subcommands_are_found_behind_options if {
	got := classes(["ctl -n pay get x", "ctl -npay --context=c -v delete x", "ctl -w delete x", "ctl config view", "ctl config set-x"])
		with data.settings.commands as tables
		with data.settings.grammars as grammars
	got == ["remote", "deploy", "unknown", "pass", "persist"]
}

test_beginnings_stand_for_words if {
	got := classes(["cloud a b list-x", "cloud a b drop", "gcc-14 deploy:all", "cloud a", "cloud beta x y show"])
		with data.settings.commands as tables
		with data.settings.grammars as grammars
	got == ["remote", "deploy", "deploy", "unknown", "pass"]
}

test_options_are_read_as_programs_read_them if {
	got := classes(["ctl get secret/db", "ctl get a,secret", "ctl get --serv=u", "ctl get -wf", "ctl get -nf", "tool --forc", "tool --dry-run", "tool -of x", "tool --for"])
		with data.settings.commands as tables
		with data.settings.grammars as grammars
	got == ["secret", "secret", "network", "script", "script", "git_force", "pass", "build", "build"]
}

test_harmless_words_stand_beyond_doubt if {
	got := classes(["tool x --dry-run", "tool -o --dry-run", "tool -- --dry-run", "tool --dry-run --dry-run=false", "tool --dry-run --no-dry-run", "tool --other=x --dry-run", "tool --for --dry-run", "tool --try=none"])
		with data.settings.commands as tables
		with data.settings.grammars as grammars
	got == ["pass", "build", "build", "build", "build", "pass", "pass", "script"]
}

test_words_by_their_place if {
	got := classes(["set", "set -e", "set -x", "set -x a"])
		with data.settings.commands as tables
	got == ["secret", "pass", "secret", "pass"]
}

test_help_and_versions_pass if {
	got := classes(["ctl delete --help", "ctl --help", "ctl config --help", "other --version", "ctl delete --help x"])
		with data.settings.commands as tables
		with data.settings.grammars as grammars
	got == ["pass", "pass", "pass", "pass", "deploy"]
}

test_what_reads_at_a_remote_passes if {
	call := shell([["ctl", "get", "pods"]])
	holdgate.decision.action == "allow" with input as call
		with data.settings.commands as tables
		with data.settings.grammars as grammars
	not holdgate.changes_something with input as call
		with data.settings.commands as tables
		with data.settings.grammars as grammars
	"untrusted" in holdgate.taints with input as call
		with data.settings.commands as tables
		with data.settings.grammars as grammars
}

test_a_remote_that_is_read_by_a_file_is_asked_about if {
	call := json.patch(shell([["ctl", "get", "x"]]), [{"op": "add", "path": "/facts/commands/0/unbound", "value": ["./x"]}])
	holdgate.decision.rule == "shell.unbound" with input as call
		with data.settings.commands as {"ctl": {"get": "remote"}}
}

test_a_remote_that_the_call_names_is_asked_about if {
	every word in ["https://evil.example/x.git", "git@evil.example:x", "ext::sh", "--server=https://evil.example"] {
		holdgate.decision.rule == "network.command" with input as shell([["ctl", "get", word]])
			with data.settings.commands as {"ctl": {"get": "remote"}}
	}
	every argv in [
		["ctl", "get", "http://localhost:8080/x"],
		["ctl", "get", "s3://bucket/x"],
		["aws", "get", "https://sqs.eu-west-1.amazonaws.com/1/x"],
		["gh", "get", "https://github.com/a/b/pull/1"],
		["glab", "get", "https://gitlab.com/a/b"],
	] {
		holdgate.decision.action == "allow" with input as shell([argv])
			with data.settings.commands as {"ctl": {"get": "remote"}, "aws": {"get": "remote"}, "gh": {"get": "remote"}, "glab": {"get": "remote"}}
	}
}

test_what_starts_a_program_has_no_help_that_is_sure if {
	got := classes(["exec --help", "command --help", "zsh --version", "nohup --version", "env --help", "make --help", "other --version", "bash --version"])
	got == ["script", "unknown", "unknown", "unknown", "secret", "pass", "pass", "pass"]
}
