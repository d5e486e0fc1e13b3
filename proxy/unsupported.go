package proxy

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// unsupported says why the answer to a request could carry tool calls that
// nobody would see, or "". What it knows are the roads of model APIs that no
// codec reads.
func (s *Server) unsupported(r *http.Request, t target) string {
	if t.codec != nil || t.mcp {
		return ""
	}
	models := s.servesModels(t)
	p := laxPath(t.url.Path)
	if upgrades(r) && (models || hasSuffixOf(p, socketPaths)) {
		return "upgraded connections to a model API are not gated, so they are refused: use plain HTTP"
	}
	if models && t.readsStored(r) || s.c.AllowUnsupported && s.fetchesFile(r, t) {
		return ungated(t.url.Path)
	}
	if method(r) != http.MethodPost && !upgrades(r) {
		return ""
	}
	if hasSuffixOf(p, modelPaths) || (models && (hasSuffixOf(p, modelHostPaths) || runsAgent(r, t.url.Path))) {
		return ungated(t.url.Path)
	}
	return ""
}

// upgrades reports whether the client wants to speak another protocol.
func upgrades(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

// refuseUnsupported refuses a request. Clients that are refused another
// protocol with this status (RFC 9110, section 15.5.22) fall back to HTTP.
func (s *Server) refuseUnsupported(w http.ResponseWriter, r *http.Request, t target, why string) {
	status := http.StatusBadRequest
	if upgrades(r) {
		status = http.StatusUpgradeRequired
		w.Header().Set("Upgrade", "HTTP/1.1")
		w.Header().Set("Connection", "Upgrade")
	}
	s.refuse(w, r, t, status, holdgate.RuleUnsupported, why)
}

// unread takes a model request whose answer no codec could read: it is refused,
// or goes on as a request of no known format where the configuration lets such
// through.
func (e *exchange) unread(why *readError) {
	if !e.s.c.AllowUnsupported {
		e.reject(http.StatusBadRequest, holdgate.RuleUnsupported, why.Error()+" (`unsupported: allow` in the configuration lets such requests through)")
		return
	}
	e.found(why.Error())
	e.t.codec = nil
	e.r.Header.Del("Content-Encoding")
	e.r.Body, e.r.ContentLength = io.NopCloser(bytes.NewReader(e.body)), int64(len(e.body))
	e.pass()
}

// readsStored reports whether a request is for what the provider keeps, calls
// among it: items of a conversation or response, chat completions, and what has
// come of a batch where an API answers with that. See [Server.fetchesFile] for
// those that keep it as a file.
func (t target) readsStored(r *http.Request) bool {
	path := t.url.Path
	batches := []string{"/batches", "/batches/*", "/batches/*/results", "/batch/jobs", "/batch/jobs/*", "/chat/deferred-completion/*"}
	if slices.ContainsFunc(batches, func(suffix string) bool { return wire.Gets(method(r), path, suffix) }) {
		return true
	}
	stored := []string{
		"/conversations/*/items", "/conversations/*/items/*", "/responses/*/input_items",
		"/chat/completions/*", "/chat/completions/*/messages",
	}
	return wire.Gets(method(r), path, "/chat/completions") || slices.ContainsFunc(stored, func(suffix string) bool {
		return wire.Gets(method(r), path, suffix) || wire.Posts(method(r), path, suffix)
	})
}

// runsAgent reports whether a request is for what runs at the provider and can
// ask for calls: an agent or a flow of Amazon Bedrock's, or a conversation of
// Mistral's that goes on.
func runsAgent(r *http.Request, path string) bool {
	return slices.ContainsFunc([]string{"/agents/*/agentAliases/*/sessions/*/text", "/agents/*", "/flows/*/aliases/*", "/conversations/*", "/conversations/*/restart"}, func(suffix string) bool {
		return wire.Posts(method(r), path, suffix)
	})
}

func ungated(path string) string {
	return "this model API is not gated yet, so its tool calls would go unseen: " + path +
		" (`unsupported: allow` in the configuration lets such requests through)"
}

// servesModels reports whether the target is a host that serves models: one
// that the configuration names as an upstream or names a format for, or a
// provider that is known.
func (s *Server) servesModels(t target) bool {
	if slices.ContainsFunc(s.c.Formats, func(f Format) bool { return f.covers(t) }) {
		return true
	}
	if t.door == doorBaseURL || isModelHost(t.url.Hostname()) {
		return true
	}
	return s.models[withPort(t.url.Scheme, t.url.Host)]
}

// asksModel reports whether a JSON body asks a model for an answer, by the
// members that model APIs have for what they are told. The roads of such APIs
// that answer with numbers, sounds or images hold no calls.
func asksModel(path string, body []byte) bool {
	if harmless(path) {
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

// harmless reports whether a path, written plainly, is one of a model API whose
// answers hold no calls.
func harmless(path string) bool {
	return hasSuffixOf(path, harmlessPaths) && !strings.ContainsFunc(path, unplain)
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
	"/v1/realtime", ":batchgeneratecontent", "/batchpredictionjobs", "/model-invocation-job", "/v1/messages/batches",
	"/converse", "/converse-stream", "/invoke-with-response-stream", "/invoke-with-bidirectional-stream",
}

// socketPaths are model APIs on any host that are also spoken over a socket.
var socketPaths = []string{"/v1/responses", "/openai/responses", "/codex/responses", "/v1/realtime"}

// modelHostPaths are model APIs on hosts that serve models; elsewhere they
// could be anything.
var modelHostPaths = []string{
	"/completions", "/realtime", "/runs", "/submit_tool_outputs", "/batches", "/batch/jobs", "/conversations", "/interactions",
	"/v1/chat", "/v2/chat", "/v1/complete",
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
	"/images/generations", "/api/create", "/audio/speech", "/responses/input_tokens", "/count-tokens:rawPredict",
}

var modelHosts = []string{
	"api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com", "aiplatform.googleapis.com", "aiplatform.us.rep.googleapis.com", "aiplatform.eu.rep.googleapis.com", "openai.azure.com",
	"services.ai.azure.com", "api.mistral.ai", "api.cohere.com", "api.groq.com", "openrouter.ai", "api.deepseek.com", "api.x.ai",
	"githubcopilot.com", "ollama.com",
}

func isModelHost(host string) bool {
	host = lowerHost(host)
	for label := range strings.SplitSeq(host, ".") { // a VPC endpoint has one of its own before
		if hasPrefixOf(label, bedrockHosts) {
			return true
		}
	}
	return hasSuffixOf(host, modelHosts)
}

// bedrockHosts are the beginnings of the labels that name Amazon Bedrock's
// endpoints in each region.
var bedrockHosts = []string{"bedrock-runtime", "bedrock-mantle", "bedrock-agent-runtime"}

func hasPrefixOf(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}
