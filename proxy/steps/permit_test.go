package steps

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestBudgetsOfTheClients(t *testing.T) {
	s := &Steps{Budget: 290 * time.Second}
	tests := []struct {
		agent string
		want  time.Duration
	}{
		{"GeminiCLI/0.61.0/gemini-3 (linux; x64)", 50 * time.Second},
		{"google-genai-sdk/1.30.0 gl-node/v20", 50 * time.Second},
		{"QwenCode/0.15.10 (linux; x64)", 110 * time.Second},
		{"claude-cli/2.1.197 (external, cli)", 290 * time.Second},
		{"", 290 * time.Second},
	}
	for _, tt := range tests {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("User-Agent", tt.agent)
		if got := s.budgetOf(r); got != tt.want {
			t.Errorf("%q waits %v, want %v", tt.agent, got, tt.want)
		}
	}
}
