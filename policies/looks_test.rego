package holdgate_test

import data.holdgate

test_reading_from_this_machine_passes if {
	every argv in [
		["curl", "localhost:3000"],
		["curl", "-sSf", "http://localhost:8080/health"],
		["curl", "-so", "out.json", "-w", "%{http_code}", "http://127.0.0.1:8080/"],
		["curl", "-X", "GET", "-H", "Accept: text/html", "http://[::1]:3000/a?b=c"],
		["curl", "--max-time", "3", "--silent", "https://LOCALHOST/"],
	] {
		holdgate.decision.action == "allow" with input as shell([argv])
	}
}

test_all_else_that_curl_can_do_asks if {
	every words in [
		[], ["-s"], ["https://example.com"], ["localhost", "example.com"], ["http://localhost@example.com/"],
		["http://localhost:80@example.com/"], ["http://localhost#@example.com/"], ["http://localhost\\@example.com/"],
		["localhost.example.com"], ["localhost:07301"], ["localhost:{7301,80}"], ["file:///etc/passwd"],
		["-X", "POST", "localhost"], ["-sX", "DELETE", "localhost"], ["-d", "a=b", "localhost"], ["--data", "x", "localhost"],
		["-T", "x", "localhost"], ["-F", "a=@x", "localhost"], ["-K", "x", "localhost"], ["-x", "proxy", "localhost"], ["-L", "localhost"],
		["--connect-to", "::example.com:80", "localhost"], ["--resolve", "localhost:80:1.2.3.4", "localhost"],
		["--unix-socket", "/x", "localhost"], ["-XPOST", "localhost"], ["-H", "@x", "localhost"], ["-w", "%output{x}", "localhost"],
		["-H", "-o", "example.com", "localhost"], ["localhost", "-o"],
	] {
		holdgate.decision.rule == "network.command" with input as shell([array.concat(["curl"], words)])
	}
}

test_a_proxy_may_lie_elsewhere if {
	env := [{"op": "add", "path": "/facts/commands/0/env", "value": [{"name": "http_proxy", "value": "example.com", "unresolved": false}]}]
	holdgate.decision.rule == "network.command" with input as json.patch(shell([["curl", "localhost"]]), env)
}

test_hosts_of_the_settings_are_near if {
	call := shell([["curl", "-s", "http://build.internal/status"]])
	holdgate.decision.rule == "network.command" with input as call
	holdgate.decision.action == "allow" with input as call with data.settings.network.hosts as ["build.internal"]
}

test_listing_an_archive_passes if {
	every word in ["tzf", "-tzf", "tvf", "tf", "-tJf"] {
		holdgate.decision.action == "allow" with input as shell([["tar", word, "x.tgz"]])
	}
}

test_all_else_that_tar_can_do_asks if {
	every argv in [
		["tar", "xzf", "x.tgz"], ["tar", "czf", "x.tgz", "."], ["tar", "tIf", "id", "x.tgz"], ["tar", "tf", "host:x"], ["tar", "tf", "-"],
		["tar", "tzf", "x.tgz", "--to-command=id"], ["tar", "tzf", "x.tgz", "--checkpoint-act=exec=id"], ["tar", "tf"], ["tar", "f", "x"],
	] {
		holdgate.decision.rule == "shell.script" with input as shell([argv])
	}
}

test_subcommands_may_have_none if {
	holdgate.decision.action == "allow" with input as shell([["git", "stash"]])
	holdgate.decision.rule == "shell.unknown" with input as shell([["git", "worktree"]])
	holdgate.decision.rule == "git.discard" with input as shell([["git", "stash", "drop"]])
}
