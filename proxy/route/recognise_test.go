package route

import (
	"net/http"
	"strings"
	"testing"
)

// TestWhatARequestIs is the one table of what method, host, path and headers say
// of a request: the format that is spoken, "unseen" where calls would be that
// nobody reads, "file" where there may be some in one, or nothing.
func TestWhatARequestIs(t *testing.T) {
	t.Parallel()
	const (
		openaiHost, claude, google, vertex = "https://api.openai.com", "https://api.anthropic.com", "https://generativelanguage.googleapis.com", "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/l"
		bedrockHost, elsewhere             = "https://bedrock-runtime.eu-west-1.amazonaws.com", "https://forms.example"
	)
	post := func(name, value string) string { return "POST " + name + ": " + value }
	tests := []struct{ method, url, want string }{
		{"POST", elsewhere + "/v1/messages", "anthropic"},
		{"PUT", elsewhere + "/V1/messages.json;x", "anthropic"},
		{"HEAD", claude + "/v1/messages", ""},
		{"OPTIONS", claude + "/v1/messages", ""},
		{"GET", claude + "/v1/messages", ""},
		{post("X-HTTP-Method-Override", "GET"), claude + "/v1/messages", "anthropic"},
		{"GET X-HTTP-Method: post", claude + "/v1/messages", "anthropic"},
		{"GET", claude + "/v1/messages?_method=POST", "anthropic"},
		{"POST", claude + "/v1/messages/count_tokens", ""},
		{"POST", claude + "/v1/messages/batches", "unseen"},
		{"POST", elsewhere + "/v1/messages/batches%3F", "unseen"},
		{"PUT", elsewhere + "/v1/messages/batches.", "unseen"},
		{"GET", claude + "/v1/messages/batches/b/results", "unseen"},
		{post("X-HTTP-Method-Override", "GET"), claude + "/v1/messages/batches/b/results", "unseen"},
		{"GET", claude + "/v1/files/f/content", ""},
		{"POST", claude + "/api/event_logging/v2/batch", ""},
		{"POST", claude + "/api/event_logging/batch", ""},
		{"POST", claude + "/batch/..;/event_logging/batch", "unseen"},
		{"GET", claude + "/v1/sessions/s/events", "unseen"},
		{"POST", claude + "/v1/complete%2520", "unseen"},

		{"POST", openaiHost + "/v1/chat/completions", "openai"},
		{"POST", "https://x.cognitiveservices.azure.com/openai/deployments/d/chat/completions?api-version=1", "openai"},
		{"POST", "https://x.openai.azure.com//openai/deployments/d/chat/completions", "openai"},
		{"POST", openaiHost + "/v1/../v1/%63hat/completions", "openai"},
		{"POST", openaiHost + "/v1/completions", ""},
		{"POST", openaiHost + "/v1/fim/completions", "unseen"},
		{"POST", openaiHost + "/v1/completions;x", "unseen"},
		{"POST", elsewhere + "/v1/completions", ""},
		{"GET", openaiHost + "/v1/chat/completions/c", "unseen"},
		{"PATCH", openaiHost + "/v1/batches", "unseen"},
		{"GET", openaiHost + "/v1/batches/b%00", "unseen"},
		{"GET", openaiHost + "/v1/files/f/content", "file"},
		{"GET", openaiHost + "/v1/files/f%2Fcontent", "file"},
		{post("X-Method-Override", "GET"), openaiHost + "/v1/files/f/content", "file"},
		{"GET", openaiHost + "/v1/containers/c/files/f/content", ""},
		{"GET", openaiHost + "/v1/containers/c/..;/../files/f/content", "file"},
		{"GET", elsewhere + "/v1/files/f/content", ""},
		{"GET", openaiHost + "/v1/threads/t/runs/r", "unseen"},
		{"GET", openaiHost + "/v1/threads/t/runs", "unseen"},
		{"POST", openaiHost + "/v1/threads/t/runs/r/cancel", "unseen"},
		{"GET", openaiHost + "/v1/threads/t/runs/r/steps/s", "unseen"},
		{"GET", openaiHost + "/v1/threads/t", ""},
		{"POST", openaiHost + "/v1/realtime/calls", "unseen"},
		{"POST", openaiHost + "/v1/realtime/client_secrets", "unseen"},
		{"POST", openaiHost + "/v1/realtime/calls/c/accept", "unseen"},
		{"POST", openaiHost + "/v1/chatkit/sessions", "unseen"},
		{"GET", openaiHost + "/v1/chatkit/threads/t/items", "unseen"},
		{"GET Upgrade: websocket", openaiHost + "/v1/realtime", "unseen"},
		{"GET Upgrade: websocket", elsewhere + "/v1/responses", "unseen"},
		{"GET Upgrade: websocket", openaiHost + "/v1/responses", "responses"},
		{"GET Upgrade: websocket", openaiHost + "/v1/responses?_method=DELETE", "unseen"},
		{"GET Upgrade: websocket", elsewhere + "/v1//responses", "unseen"},
		{"GET Upgrade: websocket", elsewhere + "/V1//responses;x", "unseen"},
		{"GET Upgrade: websocket", elsewhere + "/chat", ""},
		{"GET Upgrade: h2c", openaiHost + "/", "unseen"},
		{"POST", elsewhere + "/v1/responses", "responses"},
		{"GET", elsewhere + "/v1/responses/resp_1", "responses"},
		{"GET", elsewhere + "/responses/1", ""},
		{"GET", openaiHost + "/responses/1", "responses"},
		{"POST", openaiHost + "/v1/responses/r/cancel", "responses"},
		{"GET", openaiHost + "/v1/responses/r/input_items", "unseen"},
		{"GET", openaiHost + "/v1/conversations/c/items", "unseen"},
		{"GET", openaiHost + "/v1/models", ""},
		{"POST", openaiHost + "/v1/embeddings", ""},
		{post("X-Original-URL", "/v1/chat/completions"), openaiHost + "/v1/embeddings", "unseen"},
		{post("X-Rewrite-URL", "/v1/chat/completions"), elsewhere + "/x", ""},
		{post("Content-Type", "multipart/form-data; boundary=b"), openaiHost + "/v1/files", ""},
		{post("Content-Type", "Multipart/Mixed; boundary=b"), openaiHost + "/v1/files", "unseen"},
		{post("Content-Type", "application/sdp"), openaiHost + "/v1/own", "unseen"},

		{"POST", google + "/v1beta/models/m:generateContent", "gemini"},
		{"POST", google + "/v1alpha/models/m:streamGenerateContent?alt=sse&alt=json", "gemini"},
		{"POST", google + "/v1beta/models/a:b:generateContent", "gemini"},
		{"POST", google + "/v1beta/models/m%3AGENERATECONTENT%20/", "gemini"},
		{"POST", "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent", "gemini"},
		{"POST", google + "/v1beta/models/m:countTokens", ""},
		{"POST", google + "/v1beta/models/m:batchGenerateContent", "unseen"},
		{"POST", elsewhere + "/v1beta/models/m:batchGenerateContent%00", "unseen"},
		{"GET", google + "/v1beta/batches/b", "unseen"},
		{post("X-HTTP-Method-Override", "GET"), google + "/v1beta/batches/b", "unseen"},
		{"POST", google + "/batch", "unseen"},
		{"POST", google + "/batch/v1beta", "unseen"},
		{"GET", google + "/download/v1beta/files/f:download?alt=media", "file"},
		{"GET", google + "/v1beta/files/f:download?alt=media", "file"},
		{"POST", google + "/v1beta/interactions", "interactions"},
		{"GET", google + "/v1beta/interactions/i", "interactions"},
		{"POST", google + "/google.ai.generativelanguage.v1beta.GenerativeService/GenerateContent", "unseen"},
		{"POST", google + "/$rpc/google.ai.generativelanguage.v1beta.GenerativeService/GenerateContent", "unseen"},
		{post("Content-Type", "application/grpc+proto"), "https://api.x.ai/xai_api.Chat/GetCompletion", "unseen"},
		{post("Content-Type", "application/grpc+proto"), "https://forms.example/a.B/C", ""},
		{"POST", "https://generativelanguage.mtls.googleapis.com/batch", "unseen"},
		{"POST", vertex + "/publishers/google/models/m:streamGenerateContent", "gemini"},
		{"POST", vertex + "/publishers/anthropic/models/m@1:rawPredict", "anthropic"},
		{"POST", vertex + "/publishers/google/models/text-embedding-005:predict", ""},
		{"POST", vertex + "/endpoints/1:predict", "unseen"},
		{"POST", vertex + "/endpoints/1:serverStreamingPredict", "unseen"},
		{"POST", vertex + "/endpoints/openapi/chat/completions", "openai"},
		{"POST", "https://aiplatform.europe-west1.rep.googleapis.com/v1/x:directPredict", "unseen"},

		{"POST", bedrockHost + "/model/m/converse", "bedrock"},
		{"POST", bedrockHost + "/model/arn%3Aaws%3Abedrock%2Fm/converse-stream", "bedrock"},
		{"POST", bedrockHost + "/model/anthropic.claude/invoke", "bedrock_invoke"},
		{"POST", bedrockHost + "/model/amazon.titan-embed-x/invoke", ""},
		{"POST", bedrockHost + "/model/m/invoke-with-bidirectional-stream", "unseen"},
		{"POST", elsewhere + "/converse", "unseen"},
		{"POST", "https://bedrock-agent-runtime.eu-west-1.amazonaws.com/agents/A/agentAliases/B/sessions/S/text", "unseen"},

		{"POST", "https://ollama.com/api/chat", "ollama"},
		{"POST", elsewhere + "/api/chat", ""},
		{"POST", "https://api.mistral.ai/v1/conversations", "mistral"},
		{"POST", "https://api.mistral.ai/v1/conversations/c", "mistral"},
		{"POST", "https://api.mistral.ai/v1/conversations/c/restart", "mistral"},
		{"POST", elsewhere + "/v1/conversations", ""},
		{"GET", "https://api.mistral.ai/v1/conversations/c/history", "unseen"},
		{"POST", "https://api.mistral.ai/v1/agents/completions", "openai"},
		{"GET", "https://api.mistral.ai/v1/batch/jobs/j", "unseen"},
		{"POST", "https://api.cohere.ai/v2/chat", "cohere"},
		{"POST", "https://api.cohere.ai/v1/chat", "cohere_v1"},
		{"POST", elsewhere + "/v2/chat", ""},
		{"POST", "https://openrouter.ai/api/v1/chat/completions", "openai"},
		{"GET", "https://openrouter.ai/api/v1/generation/content?id=g", "unseen"},
		{"GET", "https://api.x.ai/v1/chat/deferred-completion/r", "unseen"},
	}
	s := newTestTable(t)
	for _, tt := range tests {
		name, header, hasHeader := strings.Cut(tt.method, " ")
		r, err := http.NewRequestWithContext(t.Context(), name, tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if hasHeader {
			key, value, _ := strings.Cut(header, ": ")
			r.Header.Set(key, value)
		}
		is := s.Recognise(r, Target{Door: DoorForward, URL: r.URL})
		got := ""
		switch {
		case is.Codec != nil:
			got = is.Codec.Name()
		case is.Why != "":
			got = "unseen"
		case is.File:
			got = "file"
		}
		if got != tt.want {
			t.Errorf("%s %s: it is %q, want %q", tt.method, tt.url, got, tt.want)
		}
	}
}

func TestBedrockHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"bedrock-runtime.us-east-1.amazonaws.com":               true,
		"bedrock-runtime-fips.us-gov-west-1.amazonaws.com":      true,
		"Bedrock-Runtime.eu-west-1.api.aws.":                    true,
		"vpce-1-2.bedrock-runtime.eu-west-1.vpce.amazonaws.com": true,
		"bedrock-agent-runtime.us-east-1.amazonaws.com":         true,
		"bedrock.us-east-1.amazonaws.com":                       false,
		"s3.us-east-1.amazonaws.com":                            false,
		"bedrock-runtime.collect.example":                       false,
		"bedrock-runtime.us-east-1.evilamazonaws.com":           false,
		"openrouter.ai":                                 true,
		"x.openrouter.ai":                               true,
		"evilopenrouter.ai":                             false,
		"2606:4700::1%.api.openai.com":                  false,
		"fe80::1%.generativelanguage.googleapis.com":    false,
		"2606:4700::1%.bedrock-runtime.x.amazonaws.com": false,
	} {
		if got := IsProvider(host); got != want {
			t.Errorf("%s: %t", host, got)
		}
	}
}
