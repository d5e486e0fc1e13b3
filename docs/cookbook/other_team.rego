package holdgate.custom.other_team

decisions contains {
	"action": "hold",
	"rule": "other_team.ask",
	"reason": "The folder belongs to the team payments.",
	"risk": "high",
} if {
	some p in input.facts.paths
	p.access != "read"
	payments(concat("", [trim_suffix(p.clean, "/"), "/"]))
	object.get(input, ["agent", "labels", "team"], "") != "payments"
}

payments(folder) if startswith(folder, "/srv/payments/")

# A folder above it: `rm -rf /srv`.
payments(folder) if startswith("/srv/payments/", folder)
