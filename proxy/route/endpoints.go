package route

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A endpointKind says what is at an endpoint of a model API that no codec reads.
type endpointKind int

const (
	unread endpointKind = iota // calls that nobody would see
	aFile                      // a file, in which there may be calls
	noCalls
)

// A endpointRow is a row of the table of endpoints. It is for GET or POST as
// [wire.Gets] and [wire.Posts] read them, in any spelling; both where it is not
// said.
type endpointRow struct {
	method string // "GET", "POST" or either
	path   string // the end of paths; a custom method of Google's where it begins with a colon
	is     endpointKind
	any    bool   // on any host; else on those that serve models
	not    string // a host on which it is something else
}

// endpointTable is what no codec reads. The first that fits counts.
var endpointTable = slices.Concat(
	[]endpointRow{
		{method: "POST", path: "/v1/completions", is: noCalls}, // which holds text alone; see completes
		{method: "POST", path: "/deployments/*/completions", is: noCalls},
		{method: "POST", path: "/beta/completions", is: noCalls},
		{method: "GET", path: "/containers/*/files/*/content", is: noCalls},
		{method: "POST", path: "/event_logging/batch", is: noCalls}, // in which Claude Code tells of itself
		{method: "POST", path: "/event_logging/v2/batch", is: noCalls},
		{method: "GET", path: "/files/*/content", is: aFile, not: "api.anthropic.com"}, // whose files are no results of batches
		{method: "GET", path: "/files/*", is: aFile, not: "api.anthropic.com"},
	},
	// On any host these can be nothing else.
	rows("POST", true, "/v1/realtime", ":batchGenerateContent", "/batchPredictionJobs", "/model-invocation-job", "/v1/messages/batches",
		"/converse", "/converse-stream", "/invoke-with-response-stream", "/invoke-with-bidirectional-stream"),
	// Models asked in other forms, in advance, or by the provider's own agents.
	rows("POST", false,
		"/completions", "/v1/complete",
		"/realtime", "/realtime/*", "/realtime/*/*", "/realtime/*/*/*",
		"/batches", "/batch/jobs", "/batch", "/batch/*", "/batch/*/*",
		"/runs", "/submit_tool_outputs", "/chatkit/sessions",
		"/agents/*", "/agents/*/agentAliases/*/sessions/*/text", "/flows/*/aliases/*",
		"/conversations", "/conversations/*", "/conversations/*/restart",
		":serverStreamingPredict", ":streamingPredict", ":directPredict", ":directRawPredict", ":streamDirectPredict", ":streamDirectRawPredict", ":streamingRawPredict",
		"/endpoints/*:predict"),
	// Conversations, responses and completions that the provider keeps, and what
	// has come of a batch or of an agent.
	rows("", false,
		"/conversations/*/items", "/conversations/*/items/*", "/conversations/*/history", "/conversations/*/messages",
		"/responses/*/input_items", "/chat/completions/*", "/chat/completions/*/messages", "/chatkit/threads/*/items",
		"/runs/*", "/runs/*/cancel", "/runs/*/steps", "/runs/*/steps/*",
		"/sessions/*/events", "/sessions/*/events/stream", "/sessions/*/stream"),
	rows("GET", false,
		"/chat/completions", "/runs", "/batches", "/batches/*", "/batches/*/results", "/batch/jobs", "/batch/jobs/*",
		"/chat/deferred-completion/*", "/generation/content"),
	// Remote procedure calls of Google's, under their full names.
	rows("POST", false, "/google.*/*"),
)

func rows(method string, any bool, paths ...string) (out []endpointRow) {
	for _, p := range paths {
		out = append(out, endpointRow{method: method, path: p, any: any})
	}
	return out
}

// fits reports whether a request is for the endpoint, by one of the methods and
// paths that servers could read in it. One without calls counts only where
// there is nothing else to read.
func (row *endpointRow) fits(methods, paths []string, t Target, models bool) bool {
	if !models && !row.any || row.not != "" && LowerHost(t.URL.Hostname()) == row.not {
		return false
	}
	if row.is == noCalls && (len(methods) > 1 || strings.ContainsFunc(t.URL.Path, unplain)) {
		return false
	}
	for _, m := range methods {
		for _, p := range paths {
			if row.method != "POST" && row.path[0] == '/' && wire.Gets(m, p, row.path) || row.method != "GET" && row.posts(m, p) {
				return true
			}
		}
	}
	return false
}

func (row *endpointRow) posts(method, path string) bool {
	if row.path[0] == ':' {
		return wire.PostsMethod(method, path, row.path[1:])
	}
	if row.path == "/endpoints/*:predict" { // elsewhere it answers with numbers and images
		return wire.Posts(method, path, "/endpoints/*") && wire.PostsMethod(method, path, "predict")
	}
	return wire.Posts(method, path, row.path)
}

// says is why a request for the endpoint is refused, or "".
func (row *endpointRow) says(path string) string {
	if row.is != unread {
		return ""
	}
	return Ungated(path)
}

// socketPaths are model APIs on any host that are also spoken over a socket.
var socketPaths = []string{"/v1/responses", "/openai/responses", "/codex/responses", "/v1/realtime"}

// harmlessPaths are endpoints of model APIs whose answers hold no calls. They count
// only as they are written here.
var harmlessPaths = []string{
	"/v1/messages/count_tokens", ":countTokens", "/embeddings", "/api/embed", ":embedContent", "/cachedContents", "/moderations",
	"/images/generations", "/api/create", "/audio/speech", "/responses/input_tokens", "/count-tokens:rawPredict", "/count-tokens", "/estimate-token-count",
	"/text-embedding/text-embedding", "/multimodal-embedding/multimodal-embedding", "/text-rerank/text-rerank",
	"/text2image/image-synthesis", "/image_generation", "/videos/generations",
	"/upload/v1beta/files", ":uploadToFileSearchStore", // what is sent there is a file of any kind
}

// unreadableTypes are parts of the types of bodies that are no JSON, and in which
// models can be asked: procedure calls, requests in a request, and what begins a
// conversation over another connection.
var unreadableTypes = []string{"grpc", "protobuf", "cbor", "msgpack", "multipart/mixed", "application/http", "application/sdp"}

// modelHosts are hosts that are known to serve models, as are those below them.
var modelHosts = []string{
	"api.openai.com", "api.anthropic.com", "openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com", "models.ai.azure.com", "inference.ai.azure.com", "models.github.ai",
	"api.mistral.ai", "codestral.mistral.ai", "api.cohere.com", "api.cohere.ai", "api.groq.com", "openrouter.ai", "api.deepseek.com", "api.x.ai",
	"api.together.xyz", "api.together.ai", "api.fireworks.ai", "api.perplexity.ai", "api.cerebras.ai", "api.sambanova.ai", "integrate.api.nvidia.com", "api.moonshot.ai", "api.moonshot.cn",
	"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "api.z.ai", "open.bigmodel.cn", "api.minimax.io", "router.huggingface.co", "api.deepinfra.com", "api.novita.ai",
	"gateway.ai.cloudflare.com", "ai-gateway.vercel.sh", "githubcopilot.com", "ollama.com",
}

// subscriptionHosts are where agents ask models on a subscription to something that serves more.
var subscriptionHosts = []string{"chatgpt.com", "portal.qwen.ai", "api.cline.bot", "opencode.ai"}

// bedrockHosts are the beginnings of the labels that name Amazon Bedrock's
// endpoints in each region.
var bedrockHosts = []string{"bedrock-runtime", "bedrock-mantle", "bedrock-agent-runtime"}

// amazonDomains are those below which Bedrock is.
var amazonDomains = []string{"amazonaws.com", "amazonaws.com.cn", "amazonaws.eu", "api.aws"}

// googleHosts are parts of the labels that name Google's, in each region and
// network.
var googleHosts = []string{"generativelanguage", "aiplatform", "cloudcode"}
