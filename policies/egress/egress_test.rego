package holdgate_test

import data.holdgate

requesting(method, host, path) := object.union(base, {"kind": "http_request", "http": {"method": method, "scheme": "https", "host": host, "path": path}})

test_reading_passes if {
	holdgate.decision.action == "allow" with input as requesting("GET", "example.com", "/")
	holdgate.decision.action == "allow" with input as requesting("HEAD", "example.com", "/a/b")
	holdgate.decision.action == "allow" with input as requesting("POST", "example.com", "/a.git/git-upload-pack")
	holdgate.decision.rule == "http.host" with input as requesting("GET", "example.com", "/") with data.settings.http.default as "ask"
}

test_writing_asks if {
	every method in ["POST", "PUT", "PATCH", "DELETE", "PROPFIND", "get", ""] {
		decision := holdgate.decision with input as requesting(method, "example.com", "/a")
		decision.rule == "http.write"
	}
	holdgate.decision.action == "hold" with input as requesting("POST", "example.com", "/a.git/git-receive-pack")
	holdgate.decision.action == "allow" with input as requesting("POST", "example.com", "/") with data.settings.http.writes as "auto"
	holdgate.decision.action == "deny" with input as requesting("POST", "example.com", "/") with data.settings.http.writes as "deny"
	contains(holdgate.decision.hold.message, "POST example.com/a") with input as requesting("POST", "example.com", "/a")
}

test_telemetry_is_refused_unasked if {
	every c in [["POST", "api.anthropic.com", "/api/event_logging/v2/batch"], ["POST", "o1.ingest.sentry.io", "/api/1/envelope/"], ["GET", "us.i.posthog.com", "/flags"]] {
		call := requesting(c[0], c[1], c[2])
		refused := holdgate.decision with input as call
		refused.action == "deny"
		refused.rule == "http.telemetry"
		asked := holdgate.decision with input as call with data.settings.http.telemetry as "ask"
		asked.action == "hold"
		holdgate.decision.action == "allow" with input as call with data.settings.http.telemetry as "auto"
		holdgate.decision.action == "allow" with input as call with data.settings.http.hosts as {c[1]: "auto"}
		holdgate.decision.action == "deny" with input as within_run(all_proven, call)
	}
	every c in [["POST", "api.anthropic.com", "/v1/files"], ["POST", "api.anthropic.com", "/api/eval/../files"], ["POST", "api.anthropic.com.example", "/api/eval/a"]] {
		holdgate.decision.rule == "http.write" with input as requesting(c[0], c[1], c[2])
	}
}

test_what_looks_like_a_model_api if {
	every method in ["POST", "GET"] {
		strange := json.patch(requesting(method, "example.com", "/a"), [{"op": "add", "path": "/http/looks_like", "value": "model_api"}])
		asked := holdgate.decision with input as strange
		asked.action == "hold"
		asked.rule == "http.model_api"
		contains(asked.hold.message, concat(" ", [method, "example.com/a"]))
		every settings in [["strict", "ask", "hold"], ["balanced", "deny", "deny"], ["strict", "sometimes", "deny"]] {
			said := holdgate.decision with input as strange
				with data.settings.profile as settings[0]
				with data.settings.http.model_apis as settings[1]
			said.action == settings[2]
			said.rule == "http.model_api"
		}
		every profile in ["strict", "unheard of"] {
			refused := holdgate.decision with input as strange with data.settings.profile as profile
			refused.action == "deny"
			refused.rule == "http.model_api"
		}
		holdgate.decision.action == "allow" with input as strange with data.settings.http.hosts as {"example.com": "auto"}
	}
	write := json.patch(requesting("POST", "example.com", "/a"), [{"op": "add", "path": "/http/looks_like", "value": "model_api"}])
	holdgate.decision.rule == "http.write" with input as write with data.settings.http.model_apis as "auto"
}

http_hosts := {
	"paste.example": "deny",
	"*.paste.example": "ask",
	"near.paste.example": "auto",
	"api.example": {"POST /v1/items": "auto", "POST /v1/*": "ask", "/admin/*": "deny", "DELETE": "deny", "*": "auto"},
}

test_hosts_and_domains if {
	every c in [
		["GET", "paste.example", "deny"], ["GET", "PASTE.example.", "deny"], ["GET", "paste.example:8443", "deny"],
		["GET", "a.paste.example", "hold"], ["GET", "a.b.paste.example", "hold"], ["POST", "near.paste.example", "allow"],
		["GET", "otherpaste.example", "allow"],
	] {
		holdgate.decision.action == c[2] with input as requesting(c[0], c[1], "/") with data.settings.http.hosts as http_hosts
	}
}

test_methods_and_paths if {
	every c in [
		["POST", "/v1/items", "allow"], ["POST", "/v1/items/7", "hold"], ["POST", "/v1/", "hold"], ["POST", "/v2", "allow"],
		["GET", "/admin/x", "deny"], ["GET", "/administrator", "allow"], ["DELETE", "/v1/items", "deny"], ["GET", "/v1/items", "allow"],
	] {
		holdgate.decision.action == c[2] with input as requesting(c[0], "api.example", c[1]) with data.settings.http.hosts as http_hosts
	}
}

test_paths_that_two_readers_read_differently_match_no_line if {
	every path in ["/v1/items/../../admin/x", "//v1/items", "/v1/%69tems", `/v1\items`, "/v1/./items"] {
		settings := {"api.example": {"POST /v1/items": "auto", "POST /v1/*": "auto", "*": "ask"}}
		holdgate.decision.action == "hold" with input as requesting("POST", "api.example", path) with data.settings.http.hosts as settings
	}
}

test_a_path_that_could_be_another_is_as_the_strictest_line_says if {
	every c in [
		["GET", "deny"], ["POST", "deny"], ["PUT", "hold"],
	] {
		settings := {"api.example": {"GET /admin/*": "deny", "POST /admin/*": "sometimes", "PUT /v1/*": "ask", "/v1/*": "auto", "*": "auto"}}
		every path in ["/v1/%2e%2e/admin/x", "/v1//x"] {
			holdgate.decision.action == c[1] with input as requesting(c[0], "api.example", path) with data.settings.http.hosts as settings
		}
		escaped := json.patch(requesting(c[0], "api.example", "/v1/x"), [{"op": "add", "path": "/http/unresolved", "value": ["encoded_slash"]}])
		holdgate.decision.action == c[1] with input as escaped with data.settings.http.hosts as settings
	}
	unnamed := {"api.example": {"POST /v1/*": "auto"}}
	holdgate.decision.rule == "http.write" with input as requesting("POST", "api.example", "/v1//x") with data.settings.http.hosts as unnamed
	holdgate.decision.action == "allow" with input as requesting("GET", "api.example", "/v1//x") with data.settings.http.hosts as unnamed
	strict := {"api.example": {"POST /v1/*": "ask"}}
	holdgate.decision.rule == "http.host" with input as requesting("POST", "api.example", "/v1//x") with data.settings.http.hosts as strict
}

test_requests_that_ask_to_be_taken_for_others if {
	every patch in [
		{"op": "add", "path": "/http/method_override", "value": "DELETE"},
		{"op": "add", "path": "/http/unresolved", "value": ["url_override"]},
		{"op": "add", "path": "/http/unresolved", "value": ["dot_segment", "method_override"]},
	] {
		decision := holdgate.decision with input as json.patch(requesting("GET", "example.com", "/a"), [patch])
			with data.settings.http.hosts as {"example.com": "auto"}
		decision.action == "hold"
		decision.rule == "http.override"
	}
	harmless := [{"op": "add", "path": "/http/unresolved", "value": ["encoded_slash"]}]
	holdgate.decision.action == "allow" with input as json.patch(requesting("GET", "example.com", "/a"), harmless)
}

asking_for(method, operation) := json.patch(requesting(method, "api.example", "/a"), [{"op": "add", "path": "/http/operation", "value": operation}])

test_operations_that_destroy_are_asked_about if {
	every operation in [
		"github.repos.delete", "github.git.refs.delete", "github.pulls.merge", "k8s.pods.delete", "k8s.deployments.deletecollection",
		"k8s.pods.exec.create", "aws.s3.DeleteBucket", "aws.dynamodb.DeleteTable", "aws.ec2.TerminateInstances", "aws.iam.PutRolePolicy",
	] {
		every method in ["GET", "POST"] {
			decision := holdgate.decision with input as asking_for(method, operation) with data.settings.http.hosts as {"api.example": "auto"}
			decision.action == "hold"
			decision.rule == "http.operation"
			contains(decision.hold.message, operation)
		}
	}
	every operation in ["github.issues.list", "k8s.pods.list", "aws.s3.GetObject"] {
		holdgate.decision.action == "allow" with input as asking_for("GET", operation)
	}
	holdgate.decision.rule == "http.write" with input as asking_for("POST", "github.issues.create")
}

test_operations_by_the_settings if {
	every c in [
		["POST", "github.issues.create", "allow"], ["POST", "github.issues.comments.create", "hold"], ["DELETE", "github.gists.delete", "allow"],
		["GET", "github.hooks.delete", "deny"], ["POST", "github.unresolved", "hold"], ["GET", "github.unresolved", "allow"], ["POST", "aws.s3.unresolved", "deny"],
	] {
		settings := {"github.issues.*": "auto", "github.gists.delete": "auto", "github.**.delete": "ask", "github.hooks.*": "deny", "github.*": "auto", "aws.**": "sometimes"}
		decision := holdgate.decision with input as asking_for(c[0], c[1]) with data.settings.http.operations as settings
		decision.action == c[2]
	}
}

test_a_web_socket_is_no_reading if {
	socket := json.patch(requesting("GET", "example.com", "/a"), [{"op": "add", "path": "/http/upgrade", "value": "websocket"}])
	holdgate.decision.rule == "http.write" with input as socket
	holdgate.decision.action == "allow" with input as socket with data.settings.http.hosts as {"example.com": "auto"}
}
