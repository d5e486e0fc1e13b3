package proxy

import (
	"net/http"
	"strings"
	"testing"
)

// TestDialectsAreReadByTheirCodec has the paths at which providers speak the
// format of another.
func TestDialectsAreReadByTheirCodec(t *testing.T) {
	s := &Server{codecs: codecs(Limits{})}
	for url, want := range map[string]string{
		"https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1":                                     "openai",
		"https://x.openai.azure.com/openai/responses?api-version=1":                                                          "responses",
		"https://x.services.ai.azure.com/models/chat/completions":                                                            "openai",
		"https://x.services.ai.azure.com/anthropic/v1/messages":                                                              "anthropic",
		"https://l-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/m@1:rawPredict":           "anthropic",
		"https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic/models/m:streamRawPredict": "anthropic",
		"https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi/chat/completions":                "openai",
		"https://api.mistral.ai/v1/chat/completions":                                                                         "openai",
		"https://api.deepseek.com/chat/completions":                                                                          "openai",
		"https://openrouter.ai/api/v1/chat/completions":                                                                      "openai",
		"https://api.groq.com/openai/v1/chat/completions":                                                                    "openai",
		"http://vllm.example:8000/v1/chat/completions":                                                                       "openai",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
		must(t, err)
		if c := s.recognise(r, target{door: doorForward, url: r.URL}).codec; c == nil || c.Name() != want {
			t.Errorf("%s: read by %v, want %s", url, c, want)
		}
	}
}

func TestAnthropicsModelsOnVertexAreGated(t *testing.T) {
	const road = "/up/test/v1/projects/p/locations/l/publishers/anthropic/models/claude-x@1:rawPredict"
	var seen counter
	g := newGate(t, plainly(&seen, 200, strings.Replace(messageWithCall, `"x"`, `"forbidden"`, 1)))
	if status, body := g.send(g.client, http.MethodPost, g.url+road, `{"anthropic_version":"vertex-2023-10-16","messages":[]}`, typeJSON); strings.Contains(body, "toolu_1") || !strings.Contains(body, "test.deny") {
		t.Errorf("status %d: %s", status, body)
	}
	if status, body := g.send(g.client, http.MethodPost, g.url+road, `{"messages":[]}`, typeJSON); status != 400 || len(seen.all()) != 1 || !strings.Contains(body, "anthropic_version") {
		t.Errorf("another model's body: status %d: %s", status, body)
	}
}
