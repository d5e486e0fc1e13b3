package holdgate.custom.inner_writes

decisions contains {
	"action": "hold",
	"rule": "inner_writes.ask",
	"reason": "The request changes customer data.",
	"risk": "high",
} if {
	input.kind == "http_request"
	input.http.host == "crm.internal"
	not input.http.method in {"GET", "HEAD"}
}
