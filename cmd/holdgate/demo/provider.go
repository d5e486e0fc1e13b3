package demo

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

//go:embed recorded/*.sse
var recorded embed.FS

// provider is a model provider that speaks the Messages API from a recorded
// exchange: which recording it plays depends on what the conversation holds.
type provider struct {
	pause time.Duration // between two events, as a model takes its time
}

func (p provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" {
		http.NotFound(w, r)
		return
	}
	var req messagesRequest
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &req)
	}
	if err != nil || len(req.Messages) == 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one message is required"}}`)
		return
	}
	stream, err := recorded.ReadFile("recorded/" + pick(req))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	rc := http.NewResponseController(w)
	for event := range bytes.SplitSeq(stream, []byte("\n\n")) {
		if len(event) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s\n\n", event); err != nil {
			return
		}
		_ = rc.Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(p.pause):
		}
	}
}

// pick chooses the recording that fits the conversation so far.
func pick(req messagesRequest) string {
	last := ""
	moved, ran := false, false
	for _, m := range req.Messages {
		for _, b := range m.Content {
			switch b.Type {
			case "tool_result":
				if strings.HasPrefix(b.Content, "[holdgate]") {
					last = b.Content // refused
				} else {
					ran = true
				}
			case "tool_use":
				moved = moved || strings.Contains(string(b.Input), "archive")
			case "text":
				if m.Role == "assistant" {
					last = b.Text
				}
			}
		}
	}
	switch {
	case ran && moved:
		return "3-moved.sse"
	case ran:
		return "2-removed.sse"
	case strings.Contains(last, "[holdgate]") && strings.Contains(last, "archive"):
		return "2-move.sse"
	case strings.Contains(last, "[holdgate]"):
		return "2-refused.sse"
	}
	return "1-remove.sse"
}
