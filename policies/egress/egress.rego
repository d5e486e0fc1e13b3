package holdgate

# METADATA
# title: Requests to hosts that speak no known format
# description: |
#   Reading passes, and what writes is asked about, unless the settings say
#   something of the host: of the request's method and path, of either, or of all.
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "http_request"
	host_setting != "auto"
	d := by_setting(host_setting, "http.host", "medium", "The settings ask about requests to this host.", [http_title])
}

# METADATA
# title: Requests that may change something at a host that nobody has named
# description: As data.settings.http.writes says.
# custom:
#   risk: medium
decisions contains d if {
	input.kind == "http_request"
	not host_setting
	not operation_setting == "auto"
	not reads
	not telemetry_passes
	d := by_setting(data.settings.http.writes, "http.write", "medium", "The request may change something at a host that the settings do not know.", [http_title])
}

# METADATA
# title: Usage data that agents send by themselves
# description: |
#   Refused unasked, as data.settings.http.telemetry says: nobody has to decide it, and the
#   agents go on without. Where it goes is in data.settings.http.telemetry_hosts; what
#   data.settings.http.hosts says of the request counts more.
# custom:
#   risk: low
decisions contains d if {
	input.kind == "http_request"
	telemetry
	not host_setting
	data.settings.http.telemetry != "auto"
	d := by_setting(data.settings.http.telemetry, "http.telemetry", "low", "The request is usage data that an agent sends by itself (settings.http.telemetry).", [http_title])
}

telemetry if {
	some name in host_names
	some key in request_keys
	key in data.settings.http.telemetry_hosts[name]
}

telemetry_passes if {
	telemetry
	data.settings.http.telemetry == "auto"
}

# METADATA
# title: Reading at a host that nobody has named
# description: Only where data.settings.http.default says so.
# custom:
#   risk: low
decisions contains d if {
	input.kind == "http_request"
	not host_setting
	reads
	data.settings.http.default != "auto"
	d := by_setting(data.settings.http.default, "http.host", "medium", "The settings ask about requests to this host.", [http_title])
}

# METADATA
# title: Requests that look like a model API's which Holdgate cannot read
# description: |
#   As data.settings.http.model_apis says, or else the profile: balanced asks, and
#   strict refuses. A host that the settings know is as they say.
# custom:
#   risk: high
decisions contains d if {
	input.kind == "http_request"
	input.http.looks_like == "model_api"
	not host_setting
	d := by_setting(model_apis, "http.model_api", "high", "The settings ask about requests that look like a model API's which Holdgate cannot read: tool calls in the answer would go unseen.", [http_title])
}

default model_apis := "deny"

model_apis := setting if {
	setting := data.settings.http.model_apis
} else := "ask" if {
	data.settings.profile == "balanced"
}

http_title := concat(" ", [input.http.method, concat("", [http_host, input.http.path])])

http_host := trim_suffix(lower(requested.host), ".")

# METADATA
# title: The request of which the settings may know the host
# description: |
#   A model request is a POST. Of the lines that have a path it heeds those alone that are
#   stricter than the line without one.
# custom:
#   risk: medium
requested := input.http if {
	input.http
} else := {"method": "POST", "host": input.model.host, "path": ""}

# METADATA
# title: Requests that change nothing
# description: |
#   By method (RFC 9110, section 9.2.1) where no WebSocket is opened, and Git's way to fetch, which posts what
#   it has (Git's own description of its HTTP protocol).
# custom:
#   risk: medium
reads if {
	input.http.method in {"GET", "HEAD", "OPTIONS", "TRACE"}
	not input.http.upgrade
}

reads if {
	input.http.method == "POST"
	endswith(input.http.path, "/git-upload-pack")
}

# METADATA
# title: What the settings say of a request
# description: |
#   Undefined where they say nothing. The host's own line counts, or else that of
#   the nearest domain above it, as "*.example.com".
# custom:
#   risk: low
host_setting := [setting |
	some name in host_names
	entry := data.settings.http.hosts[name]
	setting := request_setting(entry)
][0]

# METADATA
# title: The names by which settings may know the host, the nearest first
# custom:
#   risk: low
host_names := array.concat([http_host, bare_host], [concat(".", array.concat(["*"], array.slice(labels, i, count(labels)))) | some i in numbers.range(1, count(labels))]) if {
	labels := split(bare_host, ".")
}

bare_host := regex.replace(http_host, `:[0-9]+$`, "")

request_setting(entry) := entry if is_string(entry)

request_setting(entry) := path_setting(entry) if {
	is_object(entry)
	not clear_path
} else := line_setting(entry)

line_setting(entry) := [setting |
	some key in request_keys
	setting := entry[key]
][0] if {
	is_object(entry)
}

# METADATA
# title: What a table says of a path that could be read in two ways
# description: |
#   Each line with a path may be meant, and the strictest counts. Undefined where
#   none is stricter than the line without a path.
# custom:
#   risk: medium
path_setting(entry) := [setting |
	some setting in ["deny", "ask"]
	setting in ({line_setting(entry)} | path_lines(entry))
][0]

path_setting(entry) := [setting |
	some setting in ["deny", "ask"]
	setting in path_lines(entry)
][0] if {
	not line_setting(entry)
}

path_lines(entry) := {object.get({"auto": "auto", "ask": "ask"}, setting, "deny") |
	some key, setting in entry
	startswith(trim_prefix(key, concat("", [requested.method, " "])), "/")
}

# METADATA
# title: The keys by which settings may know the request, the most specific first
# description: |
#   "POST /v1/items", "POST /v1/*", "POST /*", then the paths alone, "POST", and "*".
#   A path that could be read in two ways matches no line but those without a path.
# custom:
#   risk: low
request_keys := array.concat([concat(" ", [requested.method, path]) | some path in http_paths], array.concat(http_paths, [requested.method, "*"]))

default http_paths := []

http_paths := array.concat([requested.path], array.reverse([concat("/", array.concat(array.slice(parts, 0, i), ["*"])) | some i in numbers.range(1, count(parts) - 1)])) if {
	clear_path
	parts := split(requested.path, "/")
}

clear_path if {
	not regex.match(`^[^/]|^$|//|/\.{1,2}(/|$)|[%\\;]`, requested.path)
	object.get(requested, "unresolved", []) == []
}

# METADATA
# title: Requests that ask to be taken for others
# description: By a header or the query, as some frameworks heed. No line of the settings is about that.
# custom:
#   risk: high
decisions contains d if {
	input.kind == "http_request"
	asks_for_another
	d := ask("http.override", "high", concat("", ["The request asks the server to take it for another one", as_what, "."]), [http_title])
}

asks_for_another if input.http.method_override

asks_for_another if {
	some why in input.http.unresolved
	why in {"method_override", "url_override"}
}

default as_what := ""

as_what := concat("", [": ", input.http.method_override])

# METADATA
# title: Operations of services
# description: What a request asks for by the tables of settings/operations, whatever is said of its host.
# custom:
#   risk: high
decisions contains d if {
	input.kind == "http_request"
	operation_setting != "auto"
	d := by_setting(operation_setting, "http.operation", "high", "The settings ask about this operation.", [concat("", [input.http.operation, ": ", http_title])])
}

# METADATA
# title: What the settings say of the operation
# description: Undefined where they say nothing.
# custom:
#   risk: medium
operation_setting := setting if {
	setting := data.settings.http.operations[input.http.operation]
} else := "deny" if {
	some setting in operation_lines
	not setting in {"auto", "ask"}
} else := "ask" if {
	"ask" in operation_lines
} else := "auto" if {
	"auto" in operation_lines
	not endswith(input.http.operation, ".unresolved")
} else := "ask" if {
	endswith(input.http.operation, ".unresolved")
	not reads
}

operation_lines contains setting if {
	some pattern, setting in data.settings.http.operations
	glob.match(pattern, ["."], input.http.operation)
}
