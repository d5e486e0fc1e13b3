package proxy

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// unsupported says why a request must be refused because its answer could
// carry tool calls that nobody would see, or "". What it knows are the roads
// of model APIs that no codec reads.
func (s *Server) unsupported(r *http.Request, t target) string {
	if s.c.AllowUnsupported || t.codec != nil || t.mcp {
		return ""
	}
	models := s.servesModels(t)
	upgrade := r.Header.Get("Upgrade") != ""
	if upgrade && models {
		return "upgraded connections to a model API are not gated, so they are refused"
	}
	if method(r) != http.MethodPost && !upgrade {
		return ""
	}
	p := laxPath(t.url.Path)
	if hasSuffixOf(p, modelPaths) || (models && hasSuffixOf(p, modelHostPaths)) {
		return ungated(t.url.Path)
	}
	return ""
}

func ungated(path string) string {
	return "this model API is not gated yet, so its tool calls would go unseen: " + path +
		" (`unsupported: allow` in the configuration lets such requests through)"
}

// servesModels reports whether the target is a host that serves models: one
// that the configuration names as an upstream, or a provider that is known.
func (s *Server) servesModels(t target) bool {
	if t.door == doorBaseURL || isModelHost(t.url.Hostname()) {
		return true
	}
	for _, u := range s.c.Upstreams {
		if withPort(u.Scheme, u.Host) == withPort(t.url.Scheme, t.url.Host) {
			return true
		}
	}
	return false
}

// asksModel reports whether a JSON body asks a model for an answer, by the
// members that model APIs have for what they are told. The roads of such APIs
// that answer with numbers, sounds or images hold no calls.
func asksModel(path string, body []byte) bool {
	if hasSuffixOf(path, harmlessPaths) && !strings.ContainsFunc(path, unplain) {
		return false
	}
	for m, err := range wire.Members(bytes.TrimLeft(body, blanks)) {
		if err != nil {
			return false
		}
		switch strings.ToLower(string(m.Name)) {
		case "messages", "input", "contents", "prompt":
			return true
		}
	}
	return false
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
	"/v1/responses", "/codex/responses", "/v1/realtime", ":batchgeneratecontent",
	":rawpredict", ":streamrawpredict", "/converse", "/converse-stream", "/invoke-with-response-stream",
}

// modelHostPaths are model APIs on hosts that serve models; elsewhere they
// could be anything.
var modelHostPaths = []string{
	"/responses", "/completions", "/realtime", "/runs", "/submit_tool_outputs", "/batches", "/conversations", "/interactions",
	"/invoke", "/api/chat", "/api/generate", "/v1/chat", "/v2/chat", "/v1/complete",
}

// unplain reports whether a character could make two servers read a path
// differently.
func unplain(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/-_.:", c))
}

// harmlessPaths are roads of model APIs whose answers hold no calls. They count
// only as they are written here.
var harmlessPaths = []string{
	"/v1/messages/count_tokens", ":countTokens", "/embeddings", "/api/embed", ":embedContent", "/moderations",
	"/images/generations", "/audio/speech",
}

var modelHosts = []string{
	"api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com", "aiplatform.googleapis.com", "openai.azure.com",
	"services.ai.azure.com", "api.mistral.ai", "api.cohere.com", "api.groq.com", "openrouter.ai", "api.deepseek.com", "api.x.ai",
}

func isModelHost(host string) bool {
	host = lowerHost(host)
	return hasSuffixOf(host, modelHosts) || strings.HasPrefix(host, "bedrock-runtime.")
}
