package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ollamaAnswer is an answer of Ollama's own API.
func ollamaAnswer(text string, calls []call, end string) string {
	var elements []string
	for i, c := range calls {
		elements = append(elements, fmt.Sprintf(`{"function":{"index":%d,"name":%q,"arguments":%s}}`, i, c.name(), c.arguments()))
	}
	tools := ""
	if len(elements) > 0 {
		tools = `,"tool_calls":[` + strings.Join(elements, ",") + `]`
	}
	return `{"model":"llama-test","created_at":"2026-11-22T10:00:00.123456789Z","message":{"role":"assistant","content":` + quoted(text) + tools + `}` + end + `}`
}

const ollamaEnd = `,"done":true,"done_reason":"stop","total_duration":1,"eval_count":20`

// writeLines writes the same as a stream, one line for each part.
func writeLines(w http.ResponseWriter, text string, calls []call) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	rc := http.NewResponseController(w)
	for _, line := range []string{ollamaAnswer(text, nil, `,"done":false`), ollamaAnswer("", calls, `,"done":false`), ollamaAnswer("", nil, ollamaEnd)} {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return
		}
		_ = rc.Flush() // the next write tells
	}
}
