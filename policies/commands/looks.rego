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
		fits_curl(c, words, i, word)
	}
	not administers(c.program, words)
}

# METADATA
# title: Clients that stay on this machine
# description: |
#   Each of their words is one that can be no other host: an address that may be
#   reached unasked, a number, a method, data, or an option that leads nowhere.
# custom:
#   risk: medium
only_looks(c) if {
	c.program in local_clients
	not reroutes(c)
	words := array.slice(c.argv, 1, count(c.argv))
	some word in words
	local(word)
	every i, other in words {
		stays(c.program, words, i, other)
	}
	not administers(c.program, words)
}

# METADATA
# title: Ending what the line itself has started
# description: Facts tell, as unresolved, the number of any other process that is known at run time only.
# custom:
#   risk: medium
only_looks(c) if {
	c.program == "kill"
	count(c.argv) > 1
	not regex.match(`xargs|parallel|exec|ssh|docker|podman|kubectl`, concat(" ", object.get(c, "via", [])))
	count([word | some word in c.argv; startswith(word, "-")]) < 2
	every word in array.slice(c.argv, 1, count(c.argv)) {
		regex.match(`^(-(0|9|15|TERM|INT|HUP|KILL|QUIT|SIG[A-Z]+)|%[0-9+-]*|\$!|\$\{?[A-Za-z_]\w*\}?|\$\{[A-Za-z_]\w*\[@\]\}|\$\(jobs -[pr]+\)|\$\((cat |cat < ?|< ?)["']?[\w./-]+["']?( 2> ?/dev/null)?\))$`, word)
		not regex.match(`PPID`, word)
	}
}

# METADATA
# title: Questions to name servers, about names that carry nothing else
# description: |
#   A name of short words in small letters. Digits, capitals and long words are how
#   data leaves by a name server.
# custom:
#   risk: medium
only_asks(c) if {
	c.program in {"dig", "nslookup", "host"}
	words := array.slice(c.argv, 1, count(c.argv))
	names := [word | some word in words; regex.match(plain_name, word)]
	count(names) == 1
	not regex.match(`secret|token|passw|key|cred|exfil|evil|leak|attack|collect|beacon|oast|interact|burp|drop`, names[0])
	every word in [word | some word in words; word != names[0]] {
		regex.match(`^(\+(short|noall|answer|nocomments|nostats|time=[0-9]+|tries=[0-9]+|trace)|-t|-4|-6|(?i)a|aaaa|cname|mx|ns|soa|srv|caa|txt|in)$`, word)
	}
}

plain_name := `^([a-z][a-z-]{0,15}\.){1,3}[a-z]{2,12}\.?$`

# METADATA
# title: Questions to the API of a forge
# description: By GET, or a query of GraphQL that changes nothing.
# custom:
#   risk: medium
only_asks(c) if {
	c.program in {"gh", "glab"}
	c.argv[1] == "api"
	words := array.slice(c.argv, 2, count(c.argv))
	count([word | some word in words; regex.match(`^(--hostname|--input|--cache)|^(-[fF]|--field|--raw-field)?=?[\w.-]*=@`, word)]) == 0
	every word in words {
		plain_forge(word)
	}
	reads_forge(words)
}

# No option but these, each as a word of its own: what is glued to one may be another.
plain_forge(word) if not startswith(word, "-")

plain_forge(word) if {
	word in {
		"-X", "--method", "-H", "--header", "-q", "--jq", "-t", "--template", "-f", "-F", "--field", "--raw-field",
		"-p", "--preview", "-i", "--include", "--paginate", "--slurp", "--silent", "--verbose",
	}
}

plain_forge(word) if regex.match(`^--(jq|template|header|preview)=`, word)

reads_forge(words) if {
	not "graphql" in words
	methods := [words[i + 1] | some i, word in words; word in {"-X", "--method"}]
	count(methods) == 1
	upper(methods[0]) == "GET"
	count([word | some word in words; regex.match(`^(-X.|--method=)`, word)]) == 0
}

reads_forge(words) if {
	"graphql" in words
	count([word | some word in words; regex.match(`^(-X|--method)`, word)]) == 0
	queries := [word | some word in words; regex.match(`^query=`, word)]
	count(queries) == 1
	regex.match(`^query=\s*(query\b|\{)`, queries[0])
	not regex.match(`(?i)\b(mutation|subscription)\b`, queries[0])
}

local_clients := {
	"wget", "http", "https", "xh", "xhs", "grpcurl", "websocat", "wscat", "nc", "ncat", "netcat", "hey", "oha", "wrk", "ab", "k6", "ping", "ping6", "dig", "nslookup", "host", "lighthouse", "autocannon", "pa11y", "xdg-open", "open", "telnet",
}

local(word) if near(word)

local(word) if regex.match(`^:[1-9][0-9]{0,4}(/[^\s\\]*)?$`, word)

local(word) if {
	regex.match(`^(wss?|grpc)://`, word)
	near(regex.replace(word, `^(wss?|grpc)://`, "http://"))
}

stays(_, _, _, word) if local(word)

stays(_, _, _, word) if regex.match(`^[0-9]+[a-z]{0,2}$`, word)

stays(_, _, _, word) if regex.match(`^[\[{]`, word)

stays(program, _, _, word) if {
	regex.match(`^[-+][A-Za-z0-9?-]*(=[\w./%{},-]*)?$`, word)
	not regex.match(runs_or_reads[program], word)
}

stays(program, _, _, word) if {
	program in {"http", "https", "xh", "xhs"}
	regex.match(`^(GET|HEAD|OPTIONS|POST|PUT|PATCH|[A-Za-z_][\w.-]*(==|:=|=)[^@].*)$`, word)
}

stays(program, _, _, word) if {
	program in {"lighthouse", "autocannon", "pa11y"}
	regex.match(`^[A-Za-z0-9/][\w./,-]*$`, word)
}

stays("grpcurl", _, _, word) if regex.match(`^(list|describe|[a-z][\w.]*\.[A-Z]\w*(/\w+)?)$`, word)

stays("wget", words, i, word) if {
	words[i - 1] in {"-O", "-qO", "-o", "--output-document"}
	not contains(word, "://")
}

# METADATA
# title: Options that run programs, listen, read settings, or send files, by program
# custom:
#   risk: medium
runs_or_reads := {program: pattern |
	some program in local_clients
	pattern := object.get(
		{
			"wget": `^(-[a-zA-Z]*[eiBx]|--(e|i|b|po|c|u|w|d|pr|h|m).*)$`,
			"grpcurl": `^--?(c|proto|unix|k|import|alts|max-msg).*$`,
			"nc": `^(-[a-zA-Z0-9]*[ecxXlkUs].*|--.*)$`,
			"ncat": `^(-[a-zA-Z0-9]*[ecxlkUgGs].*|--.*)$`,
			"netcat": `^(-[a-zA-Z0-9]*[ecxXlkUs].*|--.*)$`,
			"websocat": `^(-[a-zA-Z0-9]*[lbe].*|--.*)$`,
			"dig": `^-[fkx].*$`,
			"k6": `^.*$`,
		},
		program, `^--(config|proxy|exec|import|proto|unix|cert|key|session).*$`,
	)
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

curl_value(words, i) if {
	i > 0
	words[i - 1] == "--unix-socket"
	regex.match(`^/tmp/[\w-]+\.sock$`, words[i])
	not regex.match(`docker|podman|ssh|agent|holdgate`, words[i])
}

fits_curl(_, _, _, word) if regex.match(curl_plain, word)

fits_curl(_, words, i, word) if {
	regex.match(curl_valued, word)
	curl_value(words, i + 1)
}

# What is sent to a server of the project here stays here; where a secret is read, another
# rule says so.
fits_curl(c, words, i, "@-") if {
	c.stdin in {"heredoc", "pipe", "file"}
	regex.match(curl_data, words[i - 1])
}

fits_curl(_, words, i, word) if {
	regex.match(`^@[\w][\w./-]*\.(json|jsonl|ndjson|graphql|gql|xml|csv|txt|ya?ml)$`, word)
	regex.match(curl_data, words[i - 1])
}

# A dash prints, and "-D -" is not the name of a file.
fits_curl(_, words, i, "-") if regex.match(`^(-[a-zA-Z]*[Do]|--(dump-header|output))$`, words[i - 1])

fits_curl(_, words, i, word) if {
	regex.match(`^(-[sSfivINkLG]*[Do]|--(dump-header|output))$`, word)
	words[i + 1] == "-"
}

fits_curl(_, words, i, "--unix-socket") if curl_value(words, i + 1)

fits_curl(_, words, i, word) if {
	not curl_option(word)
	not curl_value(words, i)
}

# A value with @ at its head is read from a file, and %output names one that is written.
fits_curl(_, words, i, word) if {
	curl_value(words, i)
	not regex.match(`(?i)^@|=@|%output`, word)
	not regex.match(`^(-[a-zA-Z]*X|--request)$`, words[i - 1])
}

fits_curl(_, words, i, word) if {
	curl_value(words, i)
	regex.match(`^(-[a-zA-Z]*X|--request)$`, words[i - 1])
	word in {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH"}
}

# One thing, by its name: a path that ends in a digit, or in capital letters with a dash, is
# no list.
fits_curl(_, words, i, "DELETE") if {
	regex.match(`^(-[a-zA-Z]*X|--request)$`, words[i - 1])
	some address in words
	near(address)
	regex.match(`^[^?]*:?[^?]*/[A-Za-z_-]+/([\w.-]*[0-9]|[A-Z]+(-[A-Z]+)+)$`, address)
}

# METADATA
# title: Requests to servers of this machine that are no server of the project
# description: |
#   What stands at a port of data.settings.network.ports, "ask" or "writes", and the approvers' door;
#   paths at which servers run code, stop, or lose data; and a method that a header hides.
# custom:
#   risk: high
administers(_, words) if {
	some port in ports_of(words)
	data.settings.network.ports[port] == "ask"
}

administers(program, words) if {
	some port in ports_of(words)
	data.settings.network.ports[port] == "writes"
	sends(program, words)
	not queries(words)
}

# METADATA
# title: Questions that are put to a store by what is sent to it
# description: Of Prometheus, Loki and Elasticsearch, by the whole path of the one address.
# custom:
#   risk: medium
queries(words) if {
	addresses := [word | some word in words; near(word)]
	count(addresses) == 1
	regex.match(`^(https?://)?[^/]+(/api/v1/(query|query_range|query_exemplars|series|labels|format_query)|/loki/api/v1/(query|query_range|labels|series)|(/[a-z0-9_][\w.,*-]*)?/(_search|_count|_msearch|_validate/query|_analyze|_field_caps|_explain/[\w-]+))(\?[^\s#]*)?$`, addresses[0])
	every word in words {
		not regex.match(`^(-[sSfivINkLg]*[TF].*|--(upload|form).*|(-\w*X)?(PUT|PATCH|DELETE))$`, word)
	}
}

administers(_, words) if {
	some word in words
	contains(word, data.settings.network.approvers)
}

# What kubectl proxy puts at its port is the whole cluster.
administers(_, words) if {
	some word in words
	regex.match(`:8001/(api(/v1)?/?$|api/v1/(namespaces|nodes|pods|secrets|services|configmaps|events|persistent|serviceaccounts|endpoints)|apis(/|$)|openapi/v[23])`, word)
}

administers(program, words) if {
	sends(program, words)
	some word in words
	regex.match(administrative, word)
}

administers(_, words) if {
	some word in words
	regex.match(`(?i)x-(http-)?method(-override)?|[?&]_method=`, word)
}

administrative := `(?i):[0-9]+/(containers|exec|volumes|v1/(sys|agent|kv)|v3/kv|api/v1/namespaces|api/(kernels|terminals|contents)|scripttext|script|createitem|actuator|manage|_(all|bulk|cluster|snapshot|scripts)|.*_delete_by_query|.*_update_by_query|solr/admin|-/(reload|quit))(/|$|\?)|/(shutdown|quitquitquit|scripttext|flushall|safeexit|saferestart)(/|$|\?)|/[A-Za-z]*(Delete|Drop|Purge|Remove|Truncate|Shutdown|Wipe)[A-Za-z]*$`

# METADATA
# title: The ports that words name, in an address or by themselves
# custom:
#   risk: medium
ports_of(words) := {port | some word in words; [_, port] := regex.find_all_string_submatch_n(`^(?:[A-Za-z][\w+.-]*://)?(?:\[[^\]]*\]|[^/:?#\[\]]*):([0-9]+)(?:[/?#].*)?$`, word, 1)[0]} | {word | some word in words; regex.match(`^[0-9]+$`, word)}

# METADATA
# title: Whether a client sends more than a question
# description: What speaks another protocol than HTTP may say anything.
# custom:
#   risk: medium
sends(program, words) if {
	program in {"nc", "ncat", "netcat", "telnet", "grpcurl", "websocat", "wscat"}
	not scans(words)
}

# nc -z opens a connection and says nothing.
scans(words) if {
	some word in words
	regex.match(`^-[vnuw]*z[vnuw]*$`, word)
}

sends(_, words) if {
	some i, word in words
	regex.match(`^(-[a-zA-Z]*[dXFT].*|--(data|json|request|form|upload|method|post|body).*|POST|PUT|PATCH|[A-Za-z_][\w.-]*(:?=)[^=].*)$`, word)
	not word_at(words, i + 1) in {"GET", "HEAD"}
}

curl_plain := `^(-[sSfivINkLG]+|-[sSfivINkL]*X(GET|HEAD|POST|PUT|PATCH)|--(silent|show-error|fail|fail-with-body|include|verbose|head|no-buffer|retry-connrefused|retry-all-errors|compressed|location|insecure|get|http1.1|http2|ipv4|ipv6))$`

curl_data := `^(-[a-zA-Z]*d|--(data|data-raw|data-binary|json))$`

# -o writes a file, which files/files.rego judges.
curl_valued := `^(-[sSfivINkLG]*[omwHAXdbcuD]|--(output|max-time|connect-timeout|write-out|header|user-agent|request|retry|retry-delay|retry-max-time|data|data-raw|data-binary|data-urlencode|json|cookie|cookie-jar|user|dump-header))$`
