package holdgate

# METADATA
# title: Whether what the agent runs is contained
# description: |
#   The kernel and the sidecar have proven all of it for this run: what it changes in
#   its folder can be taken back, what it changes elsewhere goes with it, credentials
#   are hidden from it, all that it sends is judged, and accounts are told apart.
# custom:
#   risk: high
contained if {
	input.confinement.level == "strong"
	every proof in ["undo", "private", "hidden", "network", "keys"] {
		input.confinement[proof] == true
	}
}

# METADATA
# title: What a contained agent sends to hosts that nobody has named
# description: |
#   Reading too: the address that is asked for can carry what was read. Named are the
#   hosts of data.settings.http.hosts, and a model's host on the run's own account.
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "http_request"
	contained
	not host_setting
	not input.account == "own"
	data.settings.containment.hosts != "auto"
	d := by_setting(data.settings.containment.hosts, "http.unnamed", "medium", "The run may hold code that nobody has read, and nobody has named this host: a line in settings.http.hosts names it.", [http_title])
}

# METADATA
# title: What a contained agent sends on another account
# description: Whoever holds the account can read what is sent on it; without a key, whoever serves the host.
# custom:
#   risk: high
decisions contains d if {
	contained
	another_account
	data.settings.containment.accounts != "auto"
	d := by_setting(data.settings.containment.accounts, "model.account", "high", "The request asks a model with a key that the run has not used there, or with none: whoever holds the key or serves the host can read what is sent.", [account_title])
}

another_account if input.account == "new"

another_account if {
	input.kind == "model_request"
	not input.account == "own"
}

account_title := http_title if {
	input.kind == "http_request"
} else := concat(" ", [input.model.provider, input.model.name, "at", input.model.host]) if {
	input.model.host
} else := concat(" ", [input.model.provider, input.model.name])
