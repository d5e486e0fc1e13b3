package holdgate.custom.lockfiles

decisions contains {
	"action": "hold",
	"rule": "lockfiles.ask",
	"reason": "This changes which code is built.",
	"risk": "medium",
} if {
	some p in input.facts.paths
	p.access != "read"
	some name in ["/go.sum", "/package-lock.json", "/Cargo.lock"]
	endswith(p.clean, name)
}
