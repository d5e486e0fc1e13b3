package holdgate

# METADATA
# title: Commands that only look, by all of their words
# description: |
#   Of programs that a table cannot judge by one word. Each word must be one of
#   those that are known here to change nothing; any other leaves the command to
#   its class.
# custom:
#   risk: medium
only_looks(c) if {
	c.program == "curl"
	not reroutes(c)
	words := array.slice(c.argv, 1, count(c.argv))
	addresses := [word | some i, word in words; not curl_option(word); not curl_value(words, i)]
	count(addresses) > 0
	every address in addresses {
		near(address)
	}
	every i, word in words {
		fits_curl(words, i, word)
	}
}

# The name of an archive with a colon in it can be one of another machine.
only_looks(c) if {
	c.program == "tar"
	count(c.argv) == 3
	regex.match(`^-?[vzjJ]*t[tvzjJ]*f$`, c.argv[1])
	regex.match(`^[^-:][^:]*$`, c.argv[2])
}

reroutes(c) if {
	some v in c.env
	regex.match(`(?i)_proxy$|^(HOME|CURL_HOME|XDG_CONFIG_HOME)$`, v.name)
}

# METADATA
# title: Addresses of the hosts that tools may reach unasked
# description: |
#   Written so that no two programs read another host or port in it: without a
#   user, a zero before the port, or anything but a slash after it.
# custom:
#   risk: medium
near(address) if {
	parts := regex.find_all_string_submatch_n(`^(?:https?://)?\[?([A-Za-z0-9.-]+|[0-9a-fA-F:]*::[0-9a-fA-F:]*)\]?(?::[1-9][0-9]{0,4})?(?:/[^\s\\]*)?$`, address, 1)
	lower(parts[0][1]) in data.settings.network.hosts
}

curl_option(word) if startswith(word, "-")

# A value begins with no dash, so that it is clear which word is whose.
curl_value(words, i) if {
	i > 0
	not curl_option(words[i])
	regex.match(curl_valued, words[i - 1])
}

fits_curl(_, _, word) if regex.match(curl_plain, word)

fits_curl(words, i, word) if {
	regex.match(curl_valued, word)
	curl_value(words, i + 1)
}

fits_curl(words, i, word) if {
	not curl_option(word)
	not curl_value(words, i)
}

# A value with @ at its head is read from a file, and %output names one that is written.
fits_curl(words, i, word) if {
	curl_value(words, i)
	not regex.match(`(?i)^@|%output`, word)
	not regex.match(`^(-[a-zA-Z]*X|--request)$`, words[i - 1])
}

fits_curl(words, i, word) if {
	curl_value(words, i)
	regex.match(`^(-[a-zA-Z]*X|--request)$`, words[i - 1])
	word in {"GET", "HEAD", "OPTIONS"}
}

curl_plain := `^(-[sSfivIN]+|--(silent|show-error|fail|fail-with-body|include|verbose|head|no-buffer|retry-connrefused|compressed))$`

# -o writes a file, which files.rego judges.
curl_valued := `^(-[sSfivIN]*[omwHAX]|--(output|max-time|connect-timeout|write-out|header|user-agent|request|retry|retry-delay|retry-max-time))$`
