package proxy

import (
	"net/http"
	"path"
	"strings"
)

// unsupported says why a request must be refused because its answer could
// carry tool calls that nobody would see, or "". What it knows are the roads
// of model APIs that no codec reads.
func (s *Server) unsupported(r *http.Request, t target) string {
	if s.c.AllowUnsupported || t.codec != nil || t.door == doorMCP {
		return ""
	}
	model := t.door == doorBaseURL || isModelHost(t.url.Hostname())
	upgrade := r.Header.Get("Upgrade") != ""
	if upgrade && model {
		return "upgraded connections to a model API are not gated, so they are refused"
	}
	if r.Method != http.MethodPost && !upgrade {
		return ""
	}
	p := strings.ToLower(path.Clean("/" + t.url.Path))
	if hasSuffixOf(p, modelPaths) || (model && hasSuffixOf(p, modelHostPaths)) {
		return "this model API is not gated yet, so its tool calls would go unseen: " + t.url.Path +
			" (`unsupported: allow` in the configuration lets such requests through)"
	}
	return ""
}

func hasSuffixOf(s string, suffixes []string) bool {
	for _, x := range suffixes {
		if strings.HasSuffix(s, x) {
			return true
		}
	}
	return false
}

// modelPaths are model APIs on any host, in lower case.
var modelPaths = []string{
	"/v1/responses", "/codex/responses", "/v1/realtime", ":generatecontent", ":streamgeneratecontent", ":batchgeneratecontent",
	":rawpredict", ":streamrawpredict", "/converse", "/converse-stream", "/invoke-with-response-stream",
}

// modelHostPaths are model APIs on hosts that serve models; elsewhere they
// could be anything.
var modelHostPaths = []string{
	"/responses", "/completions", "/realtime", "/runs", "/submit_tool_outputs", "/batches", "/conversations", "/interactions",
	"/invoke", "/api/chat", "/api/generate", "/v1/chat", "/v2/chat",
}

var modelHosts = []string{
	"api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com", "aiplatform.googleapis.com", "openai.azure.com",
	"services.ai.azure.com", "api.mistral.ai", "api.cohere.com", "api.groq.com", "openrouter.ai", "api.deepseek.com", "api.x.ai",
}

func isModelHost(host string) bool {
	host = lowerHost(host)
	return hasSuffixOf(host, modelHosts) || strings.HasPrefix(host, "bedrock-runtime.")
}
