package proxy

import (
	"net/http"
	"strings"
	"time"
)

// patience is how long the clients were seen to wait for headers before they
// ask again, less a margin; by how their User-Agent begins. Clients that are
// not here get [Limits.Budget].
var patience = []struct {
	agent string
	wait  time.Duration
}{
	{"GeminiCLI", 50 * time.Second},
	{"google-genai-sdk", 50 * time.Second},
	{"QwenCode", 110 * time.Second},
}

func (s *Server) budget(r *http.Request) time.Duration {
	ua := r.UserAgent()
	for _, p := range patience {
		if strings.HasPrefix(ua, p.agent) {
			return min(p.wait, s.c.Limits.Budget)
		}
	}
	return s.c.Limits.Budget
}
