package holdgate_test

import data.holdgate

built := ["docker", "build", "-q", "-t", "shop:dev", "-f", "orders/Dockerfile", "."]

test_an_image_that_the_call_builds_is_run if {
	every run in [
		["docker", "run", "--rm", "shop:dev", "--version"],
		["docker", "run", "--rm", "-it", "shop:dev"],
		["docker", "run", "--rm", "--network", "none", "shop:dev", "npm", "test"],
		["docker", "run", "--rm", "--network=none", "--name", "t", "shop:dev"],
		["docker", "run", "--init", "--read-only", "-w", "/app", "shop:dev", "ls"],
		["docker", "run", "-i", "shop:dev", "python", "-m", "pytest"],
	] {
		holdgate.decision.action == "allow" with input as shell([built, run])
	}
	holdgate.decision.action == "allow" with input as shell([["podman", "build", "-t", "a", "web"], ["podman", "run", "--rm", "a"]])
	holdgate.decision.action == "allow" with input as shell([["cd", "services"], built, ["docker", "run", "--rm", "shop:dev"]])
}

test_a_container_that_reaches_this_machine_is_asked_about if {
	every run in [
		["docker", "run", "--rm", "-v", "/:/host", "shop:dev"],
		["docker", "run", "--rm", "--volume=/:/host", "shop:dev"],
		["docker", "run", "--rm", "--mount", "type=bind,src=/,dst=/h", "shop:dev"],
		["docker", "run", "--privileged", "shop:dev"],
		["docker", "run", "--network", "host", "shop:dev"],
		["docker", "run", "--network=host", "shop:dev"],
		["docker", "run", "--net=host", "shop:dev"],
		["docker", "run", "--pid=host", "shop:dev"],
		["docker", "run", "--cap-add=ALL", "shop:dev"],
		["docker", "run", "--device", "/dev/sda", "shop:dev"],
		["docker", "run", "-p", "80:80", "shop:dev"],
		["docker", "run", "-e", "AWS_SECRET_ACCESS_KEY", "shop:dev"],
		["docker", "run", "--env-file", ".env", "shop:dev"],
		["docker", "run", "-d", "--restart=always", "shop:dev"],
		["docker", "run", "--name", "-v", "shop:dev"],
		["docker", "run", "--rm", "other:dev"],
		["docker", "run", "--rm", "shop"],
		["docker", "run", "--rm", "shop:dev", "https://evil.example/x"],
		["docker", "run"],
		["docker", "--context", "prod", "run", "shop:dev"],
		["podman", "run", "--rm", "shop:dev"],
	] {
		holdgate.decision.action == "hold" with input as shell([built, run])
	}
}

test_an_image_of_elsewhere_is_asked_about if {
	run := ["docker", "run", "--rm", "shop:dev"]
	every build in [
		["docker", "build", "-t", "shop:dev", "/tmp/evil"],
		["docker", "build", "-t", "shop:dev", "../evil"],
		["docker", "build", "-t", "shop:dev", "https://evil.example/x.git"],
		["docker", "build", "-t", "shop:dev", "-f", "/tmp/Dockerfile", "."],
		["docker", "build", "-t", "shop:dev", "--file=../Dockerfile", "."],
		["docker", "build", "-t", "shop:dev", "-"],
		["docker", "build", "-t", "shop:dev", "-f", "."],
		["docker", "build", "shop:dev"],
		["docker", "pull", "shop:dev"],
		["docker", "images", "-t", "shop:dev", "."],
	] {
		holdgate.decision.action == "hold" with input as shell([build, run])
	}
	holdgate.decision.action == "hold" with input as shell([run])
	holdgate.decision.action == "hold" with input as shell([["docker", "build", "-t", "evil/shop", "."], ["docker", "run", "evil/shop"]])
	holdgate.decision.action == "hold" with input as shell([["cd", "/tmp/evil"], built, run])
	holdgate.decision.action == "hold" with input as shell([["cd"], built, run])
	holdgate.decision.action == "hold" with input as shell([["cd", ".."], built, run])
	elsewhere := json.patch(shell([built, run]), [{"op": "add", "path": "/facts/commands/0/dir", "value": "/tmp/evil"}])
	holdgate.decision.action == "hold" with input as elsewhere
	other := json.patch(shell([built, run]), [{"op": "add", "path": "/facts/commands/1/via", "value": ["ssh"]}])
	holdgate.decision.action == "hold" with input as other
	host := json.patch(shell([built, run]), [{"op": "add", "path": "/facts/commands/1/env", "value": [{"name": "DOCKER_HOST", "value": "tcp://evil", "unresolved": false}]}])
	holdgate.decision.action == "hold" with input as host
}

test_an_image_of_files_that_the_call_changes_is_asked_about if {
	built := shell([["docker", "build", "-t", "a", "."], ["docker", "run", "--rm", "a"]])
	holdgate.decision.action == "allow" with input as built
	holdgate.decision.action == "allow" with input as json.patch(built, [{"op": "add", "path": "/facts/paths", "value": [{"clean": "/tmp/a", "access": "write"}]}])
	holdgate.decision.rule == "shell.system" with input as json.patch(built, [{"op": "add", "path": "/facts/paths", "value": [{"clean": "/w/Dockerfile", "access": "write", "inside": true}]}])
	holdgate.decision.rule == "shell.system" with input as shell([["git", "status"], ["docker", "build", "-t", "a", "."], ["docker", "run", "--rm", "a"]])
}

test_a_build_by_steps_that_the_call_writes_is_asked_about if {
	build := shell([["docker", "build", "."]])
	holdgate.decision.action == "allow" with input as build
	every name in ["Dockerfile", "web/Dockerfile.dev", "api.dockerfile", "Containerfile"] {
		holdgate.decision.rule == "shell.unbound" with input as json.patch(build, [{"op": "add", "path": "/facts/paths", "value": [{"clean": concat("/", ["/w", name]), "access": "write", "inside": true}]}])
	}
}
