package holdgate.custom.lockfiles

decisions contains {
	"action": "hold",
	"rule": "lockfiles.ask",
	"reason": "This changes which code is built.",
	"risk": "medium",
} if {
	some p in input.facts.paths
	changes(p)
	some name in ["/go.sum", "/package-lock.json", "/Cargo.lock"]
	endswith(p.clean, name)
}

changes(p) if p.access != "read"

# A copy into a folder keeps its name: `cp other/go.sum .`.
changes(_) if {
	some c in input.facts.commands
	c.program in {"cp", "mv", "install", "ln", "rsync"}
}
