package model_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
)

// liner answers with lines, flushed one by one.
func liner(seen *proxytest.Counter, lines ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Saw(r)
		w.Header().Set("Content-Type", "application/x-ndjson")
		rc := http.NewResponseController(w)
		for _, l := range lines {
			_, _ = io.WriteString(w, l+"\n")
			_ = rc.Flush()
		}
	})
}

func ollamaCall(command string) string {
	return `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"Bash","arguments":{"command":"` + command + `"}}}]},"done":false}`
}

const (
	ollamaText = `{"model":"m","message":{"role":"assistant","content":"I will."},"done":false}`
	ollamaLast = `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}`
	ollamaPath = "/up/test/api/chat"
)

// TestOllamaIsAskedAsAStreamUnlessItSaysOtherwise holds a call in a stream of
// lines, and has the client come back for the plain form.
func TestOllamaIsAskedAsAStreamUnlessItSaysOtherwise(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, liner(&seen, ollamaText, ollamaCall("gated"), ollamaLast), proxytest.WithIdle(20*time.Millisecond))
	ask := func(stream string) string {
		return `{"model":"m","messages":[{"role":"user","content":"go"}],"tools":[{"function":{"name":"Bash"}}]` + stream + `}`
	}
	resp := g.Post(t.Context(), ollamaPath, ask(""))
	r := bufio.NewReader(resp.Body)
	if before := proxytest.Until(t, r, "\n"); before != ollamaText+"\n" || resp.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("before the call it sent %s of type %s", before, resp.Header.Get("Content-Type"))
	}
	if life := proxytest.Until(t, r, "\n"); !strings.Contains(life, `"content":""`) || strings.Contains(life, "tool_calls") {
		t.Errorf("while the call is held it sent %s", life)
	}
	held := g.Pending(1)[0]
	resp.Body.Close()
	g.Noticed()
	g.Decide(held, holdgate.AnswerApprove, "")
	plain := g.Post(t.Context(), ollamaPath, ask(`,"stream":false`))
	want := `{"model":"m","done":true,"done_reason":"stop","message":{"role":"assistant","content":"I will.","tool_calls":[{"function":{"name":"Bash","arguments":{"command":"gated"}}}]}}`
	if got := proxytest.ReadAll(t, plain.Body); got != want || plain.Header.Get("Content-Type") != "application/json" {
		t.Errorf("asked again, it sent %s of type %s", got, plain.Header.Get("Content-Type"))
	}
	if n := len(seen.All()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	g.Verified()
}

// TestOllamaPlainAnswersComeBackAsLines is the other way round.
func TestOllamaPlainAnswersComeBackAsLines(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, strings.Replace(ollamaCall("gated"), `"done":false`, "\n"+`"done":true`, 1)))
	first := make(chan struct{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+ollamaPath, strings.NewReader(`{"model":"m","stream":false}`))
	proxytest.Must(t, err)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		defer close(first)
		resp, err := g.Client.Do(req.WithContext(ctx))
		if err == nil {
			resp.Body.Close()
		}
	}()
	held := g.Pending(1)[0]
	leave()
	<-first
	g.Noticed()
	g.Decide(held, holdgate.AnswerDeny, "not today")
	resp := g.Post(t.Context(), ollamaPath, `{"model":"m"}`)
	got := proxytest.ReadAll(t, resp.Body)
	if resp.Header.Get("Content-Type") != "application/x-ndjson" || strings.Count(got, "\n") != 1 || strings.Contains(got, "tool_calls") || !strings.Contains(got, "not today") {
		t.Errorf("it sent %s of type %s", got, resp.Header.Get("Content-Type"))
	}
	if n := len(seen.All()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestOllamaRefusedCallsArePutBack sends the notice back in the next request.
func TestOllamaRefusedCallsArePutBack(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, liner(&seen, ollamaCall("forbidden"), ollamaLast))
	got := proxytest.ReadAll(t, g.Post(t.Context(), ollamaPath, `{"model":"m","messages":[],"tools":[{"function":{"name":"Bash"}}]}`).Body)
	_, content, ok := strings.Cut(got, `"content":`)
	content, _, ok2 := strings.Cut(content, `}`)
	if !ok || !ok2 || !strings.Contains(content, proxytest.NoticeWord) {
		t.Fatalf("nothing was refused: %s", got)
	}
	proxytest.ReadAll(t, g.Post(t.Context(), ollamaPath, `{"model":"m","messages":[{"role":"assistant","content":`+content+`}],"tools":[{"function":{"name":"Bash"}}]}`).Body)
	next := seen.All()[1]
	if !strings.Contains(next, `"tool_calls":[{"function":{"name":"Bash","arguments":{"command":"forbidden"}}}]},{"role":"tool","tool_name":"Bash","content":"[holdgate]`) {
		t.Errorf("the model is told %s", next)
	}
}
