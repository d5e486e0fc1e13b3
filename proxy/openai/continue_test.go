package openai_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/openai"
)

// Some providers end an answer in the chunk that has the call, so that the notice
// is in the last one.
func TestTextInAChunkThatEndsGoesOn(t *testing.T) {
	s := (&openai.Codec{}).Continuation()
	out := s.Push(sse(`{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"notice"},"finish_reason":"stop"}],"usage":{"total_tokens":3}}`, "[DONE]"))
	out = append(out, s.Next()...)
	out = append(out, s.Push(sse(`{"id":"y","choices":[{"index":0,"delta":{"role":"assistant","content":"then"},"finish_reason":null}]}`,
		`{"id":"y","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"total_tokens":4}}`, "[DONE]"))...)
	out = append(out, s.End()...)
	got := string(out)
	for _, once := range []string{`"notice"`, `"then"`, `"stop"`, "[DONE]", "usage", `"total_tokens":7`} {
		if strings.Count(got, once) != 1 {
			t.Errorf("%s is not there once: %s", once, got)
		}
	}
	if strings.Contains(got, `"y"`) || strings.Index(got, "notice") > strings.Index(got, "then") {
		t.Errorf("it is not one answer: %s", got)
	}
}
