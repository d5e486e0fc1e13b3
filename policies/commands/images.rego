package holdgate

# METADATA
# title: Running the image that the same call builds of the folder
# description: |
#   Such as docker build -t shop:dev . && docker run --rm shop:dev --version. The image is
#   the project's code. It runs with nothing of this machine: no folders, ports, devices,
#   rights or networks of it. A name without a slash can be fetched from nobody else where
#   the build fails.
# custom:
#   risk: medium
runs_own_image(c) if {
	c.program in {"docker", "podman"}
	c.argv[1] == "run"
	not c.env
	not c.via[0]
	at := image_at(c.argv)
	regex.match(`^[a-z0-9][a-z0-9._-]*(:[\w][\w.-]*)?$`, c.argv[at])
	every i, word in array.slice(c.argv, 2, at) {
		bare_run(word, c.argv[i + 1])
	}
	every word in array.slice(c.argv, at + 1, count(c.argv)) {
		not regex.match(`://|@`, word)
	}
	some build in input.facts.commands
	builds_image(build, c.program, c.argv[at])
	stays_below
	not changes_files
}

changes_files if {
	some p in input.facts.paths
	p.access != "read"
	not startswith(p.clean, "/tmp/")
}

changes_files if {
	some c in input.facts.commands
	c.program in {"ln", "git", "patch", "tar", "unzip", "rsync", "curl", "wget"}
}

image_at(argv) := min({i |
	some i, word in argv
	i > 1
	not startswith(word, "-")
	not argv[i - 1] in {"--name", "-w", "--workdir", "--network"}
})

# METADATA
# title: Options of a container that give it nothing of this machine
# custom:
#   risk: medium
bare_run(word, _) if word in {"--rm", "-i", "-t", "-it", "-ti", "--init", "--read-only", "--name", "-w", "--workdir", "--network", "--network=none"}

bare_run("none", "--network")

bare_run(word, before) if {
	before in {"--name", "-w", "--workdir"}
	not startswith(word, "-")
}

# METADATA
# title: Builds of an image by a name, of the session's folder and nothing else
# custom:
#   risk: medium
builds_image(c, program, name) if {
	c.program == program
	c.argv[1] == "build"
	not c.env
	not c.via[0]
	not c.unresolved[0]
	not c.dir
	some i, word in c.argv
	word == name
	c.argv[i - 1] in {"-t", "--tag"}
	regex.match(`^[.\w][\w./-]*$`, c.argv[count(c.argv) - 1])
	not c.argv[count(c.argv) - 2] in {"-f", "--file", "-t", "--tag"}
	every other in c.argv {
		not regex.match(`^-$|(^|=|/)(/|~|\.\.)|://`, other)
	}
}

# METADATA
# title: Whether the call stays in the session's folder and below
# custom:
#   risk: low
stays_below if {
	every c in input.facts.commands {
		not leaves_folder(c)
	}
}

leaves_folder(c) if {
	c.program in {"cd", "pushd", "popd", "chdir"}
	not regex.match(`^\w[\w/-]*$`, word_at(c.argv, 1))
}
