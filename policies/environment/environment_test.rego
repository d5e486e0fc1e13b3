package holdgate_test

import data.holdgate

# A command with one variable in its environment, and a folder that is known.
under(name, value, unresolved) := object.union(
	json.patch(shell([["make", "test"]]), [{"op": "add", "path": "/facts/commands/0/env", "value": [{"name": name, "value": value, "unresolved": unresolved}]}]),
	{"session": {"cwd": "/w"}},
)

test_ordinary_environment_passes if {
	every v in [
		["CI", "1"], ["NODE_ENV", "test"], ["DEBUG", "app:*"], ["GOOS", "linux"], ["PORT", "3000"], ["RUST_BACKTRACE", "1"],
		["ENV", "production"], ["PYTHONPATH", "."], ["PYTHONPATH", "src:lib/x"], ["PYTHONPATH", "/w/src"], ["GIT_EDITOR", "true"],
		["PAGER", "cat"], ["GIT_PAGER", ""], ["GIT_PAGER", "less -FRX"], ["CC", "clang-17"], ["CXX", "g++"], ["GOFLAGS", "-mod=mod -count=1"], ["GOTOOLCHAIN", "local"], ["GOTOOLCHAIN", "go1.22.3"], ["GOWORK", "off"], ["GOWORK", "tools/go.work"], ["GOCACHE", "/tmp/gocache"], ["GOPATH", "$HOME/go"], ["GOENV", "off"],
		["NODE_OPTIONS", "--max-old-space-size=4096 --experimental-vm-modules"], ["MAKEFLAGS", "-j8"], ["RUSTFLAGS", "-D warnings"],
		["PYTEST_ADDOPTS", "-q --tb=short -p no:cacheprovider"], ["JAVA_TOOL_OPTIONS", "-Xmx2g"], ["RUBYOPT", "-W0"],
	] {
		holdgate.decision.action == "allow" with input as under(v[0], v[1], false)
	}
}

test_environment_that_runs_other_code_asks if {
	every v in [
		["LD_PRELOAD", "./x.so"], ["LD_LIBRARY_PATH", "."], ["LD_AUDIT", "x"], ["DYLD_INSERT_LIBRARIES", "x"], ["BASH_ENV", "./x"],
		["ENV", "./x"], ["PROMPT_COMMAND", "id"], ["GIT_SSH", "./x"], ["GIT_SSH_COMMAND", "ssh -o ProxyCommand=id"],
		["GIT_EXTERNAL_DIFF", "x"], ["PAGER", "cat; id"], ["PAGER", "cat\nid"], ["MANPAGER", "less -k x"], ["EDITOR", "./x"],
		["GIT_EDITOR", "true && id"], ["PYTHONSTARTUP", "x.py"], ["PERL5OPT", "-Mx"], ["PERL5LIB", "/x"], ["RUBYOPT", "-r./x"],
		["PYTHONPATH", "/tmp/x"], ["PYTHONPATH", "src:../x"], ["PYTHONPATH", "/wide"], ["PYTHONPATH", "/w/../x"], ["PYTHONPATH", "~/x"],
		["NODE_OPTIONS", "--require ./x.js"], ["NODE_OPTIONS", "-r ./x.js"], ["NODE_OPTIONS", "--no-warnings --import=./x.mjs"],
		["JAVA_TOOL_OPTIONS", "-javaagent:x.jar"], ["JAVA_TOOL_OPTIONS", "-XX:OnOutOfMemoryError=id"], ["GOFLAGS", "-toolexec=./x"],
		["GOFLAGS", "-exec=./x"], ["GOTOOLCHAIN", "path"], ["GOTOOLCHAIN", "go1.99-evil"], ["GOTOOLCHAIN", "local+path"], ["GOWORK", "/tmp/x/go.work"], ["GOWORK", "../go.work"],
		["GOCACHE", "/srv/x"], ["GOCACHE", "/tmp/x/../y"], ["GOMODCACHE", "/tmp/x"], ["GOPATH", "/tmp/x"], ["GOENV", "/tmp/x"], ["GOROOT", "/tmp/go"], ["GOTOOLDIR", "/tmp/x"], ["GOAUTH", "./x"], ["GCCGO", "./x"], ["PKG_CONFIG", "./x"], ["CC", "./cc"], ["CC", "sh"], ["RUSTC_WRAPPER", "./x"], ["MAKEFLAGS", "--eval=$(shell id)"],
		["PYTEST_ADDOPTS", "-p x"], ["npm_config_script_shell", "./sh"], ["PATH", "/usr/bin"], ["TAR_OPTIONS", "-I id"],
	] {
		decision := holdgate.decision with input as under(v[0], v[1], false)
		decision.rule == "shell.environment"
		contains(decision.hold.message, v[0])
	}
}

test_a_path_keeps_what_was_there_and_adds_nothing_of_the_agent if {
	every value in ["$PATH:/usr/local/go/bin", "/home/u/go/bin:$PATH", "${PATH}:$HOME/.local/bin", "$PATH:$(go env GOPATH)/bin"] {
		holdgate.decision.action == "allow" with input as under("PATH", value, true)
	}
	every value in [
		".:$PATH", "bin:$PATH", ":$PATH", "/tmp/x:$PATH", "/tmp:$PATH", "/w/bin:$PATH", "/w:$PATH", "$PWD/bin:$PATH", "$PATH:/usr/../tmp",
		"$PATH:$(id)/bin", "/usr/bin", "$X:$PATH", "/var/tmp/x:$PATH", "/dev/shm:$PATH",
	] {
		holdgate.decision.rule == "shell.environment" with input as under("PATH", value, true)
	}
}

test_what_the_project_has_installed_may_be_searched if {
	every value in ["$PWD/node_modules/.bin:$PATH", "/w/.venv/bin:$PATH", "./vendor/bin:$PATH"] {
		holdgate.decision.action == "allow" with input as under("PATH", value, true)
	}
	holdgate.decision.rule == "shell.environment" with input as under("PATH", "./bin:$PATH", true)
}

test_absolute_folders_ask_where_the_folder_is_unknown if {
	call := json.remove(under("PYTHONPATH", "/x", false), ["/session/cwd"])
	holdgate.decision.rule == "shell.environment" with input as call
	holdgate.decision.action == "allow" with input as json.patch(call, [{"op": "replace", "path": "/facts/commands/0/env/0/value", "value": "$PWD/src:lib"}])
}

test_values_of_run_time_ask if {
	holdgate.decision.rule == "shell.environment" with input as under("PAGER", "$X", true)
	holdgate.decision.rule == "shell.environment" with input as under("PYTHONPATH", "$X/src", true)
	holdgate.decision.action == "allow" with input as under("PYTHONPATH", "src:$PYTHONPATH", true)
	holdgate.decision.action == "allow" with input as under("CI", "$X", true)
}

test_a_value_that_a_branch_may_have_set_asks if {
	holdgate.decision.rule == "shell.environment" with input as under("PAGER", "cat", true)
}

test_exports_for_later_calls_ask if {
	holdgate.decision.rule == "shell.environment" with input as shell([["export", "LD_PRELOAD=./x.so"]])
	holdgate.decision.action == "allow" with input as shell([["export", "PORT=3000"]])
	holdgate.decision.action == "allow" with input as shell([["export", "GOFLAGS=-mod=vendor"]])
	holdgate.decision.action == "allow" with input as shell([["export", "PATH=$PATH:/usr/local/go/bin"]])
}

test_settings_say_what_a_variable_may_hold if {
	call := under("LD_LIBRARY_PATH", "/opt/cuda/lib64", false)
	holdgate.decision.action == "hold" with input as call
	holdgate.decision.action == "allow" with input as call with data.settings.environment.LD_LIBRARY_PATH as "/opt/cuda/lib64"
}

test_empty_and_session_folders_are_of_the_sessions_own if {
	holdgate.decision.action == "allow" with input as under("PYTHONPATH", "src:", false)
	holdgate.decision.action == "allow" with input as under("PYTHONPATH", "/w", false)
	holdgate.decision.action == "allow" with input as under("PYTHONPATH", "$PWD", true)
}
