package route

import (
	"net/http"
	"testing"
)

// TestDialectsAreReadByTheirCodec has the paths at which providers speak the
// format of another.
func TestDialectsAreReadByTheirCodec(t *testing.T) {
	s := newTestTable(t)
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
		if err != nil {
			t.Fatal(err)
		}
		if c := s.Recognise(r, Target{Door: DoorForward, URL: r.URL}).Codec; c == nil || c.Name() != want {
			t.Errorf("%s: read by %v, want %s", url, c, want)
		}
	}
}

func TestWhatTheConfigurationSaysIsSpoken(t *testing.T) {
	s := newTestTable(t, []Format{
		{Host: "llm.example", Path: "/api/", Name: "openai"},
		{Host: "llm.example:8443", Name: "anthropic"},
	}...)
	tests := []struct{ method, url, want string }{
		{"POST", "https://llm.example/api/ask", "openai"},
		{"post", "http://LLM.example.:8080//API;x/ask", "openai"},
		{"POST", "https://llm.example/api", "openai"},
		{"POST", "https://llm.example/api/v1/messages", "anthropic"}, // the path tells
		{"POST", "https://llm.example:8443/ask", "anthropic"},
		{"POST", "https://llm.example/apix/ask", ""},
		{"POST", "https://llm.example/ask", ""},
		{"POST", "https://other.example/api/ask", ""},
		{"GET", "https://llm.example/api/models", ""},
		{"POST", "https://llm.example/api/embeddings", ""},
	}
	for _, tt := range tests {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Method = tt.method
		got := ""
		if c := s.Recognise(r, Target{Door: DoorForward, URL: r.URL}).Codec; c != nil {
			got = c.Name()
		}
		if got != tt.want {
			t.Errorf("%s %s: read by %q, want %q", tt.method, tt.url, got, tt.want)
		}
	}
}

// newTestTable is a table of every codec, with the formats given.
func newTestTable(t *testing.T, formats ...Format) *Table {
	t.Helper()
	x, err := NewTable(Codecs(8<<20), formats, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
