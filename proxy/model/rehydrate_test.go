package model_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/store/audit"
)

// strictMessages is a stand-in for the Messages API. Like it, it refuses a
// history in which a call has no result, or a result no call, in the turn
// behind; its first answer is the one given, later ones say "done".
func strictMessages(t testing.TB, seen *proxytest.Counter, first string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := seen.Saw(r)
		w.Header().Set("Content-Type", "application/json")
		if fault := danglingUse(t, body); fault != "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"`+fault+`"}}`)
			return
		}
		answer := first
		if len(seen.All()) > 1 {
			answer = `{"id":"msg_2","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"}`
		}
		_, _ = io.WriteString(w, answer)
	})
}

// danglingUse says what the API would refuse in a request's history.
func danglingUse(t testing.TB, body string) string {
	t.Helper()
	type block struct {
		Type      string `json:"type"`
		ID        string `json:"id"`
		ToolUseID string `json:"tool_use_id"`
	}
	var req struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	proxytest.Must(t, json.Unmarshal([]byte(body), &req))
	open := map[string]bool{}
	for _, m := range req.Messages {
		var blocks []block
		_ = json.Unmarshal(m.Content, &blocks) // a string has none
		text := false
		for _, b := range blocks {
			switch b.Type {
			case "tool_result":
				if text {
					return "a result stands behind a text"
				}
				if !open[b.ToolUseID] {
					return "a result of " + b.ToolUseID + " has no call"
				}
				delete(open, b.ToolUseID)
			case "text":
				text = true
			}
		}
		if len(open) > 0 {
			return "calls without results"
		}
		for _, b := range blocks {
			if b.Type == "tool_use" {
				open[b.ID] = true
			}
		}
	}
	if len(open) > 0 {
		return "calls without results at the end"
	}
	return ""
}

const toolsPart = `"tools":[{"name":"Bash","input_schema":{"type":"object"}}]`

// converse sends a first request, denies what is held, and sends a second one
// that repeats the answer as real clients do. It returns the first answer's
// content and the body that reached the upstream second.
func converse(t *testing.T, g *proxytest.Sidecar, seen *proxytest.Counter, next func(content string) string) (content, second string) {
	t.Helper()
	ask := `{"model":"m","max_tokens":9,` + toolsPart + `,"messages":[{"role":"user","content":"go"}]}`
	resp := g.Post(t.Context(), proxytest.Messages, ask)
	var answer struct{ Content json.RawMessage }
	proxytest.Must(t, json.Unmarshal([]byte(proxytest.ReadAll(t, resp.Body)), &answer))
	content = string(answer.Content)
	resp = g.Post(t.Context(), proxytest.Messages, next(content))
	if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != http.StatusOK {
		t.Fatalf("the second request got %d: %s", resp.StatusCode, body)
	}
	bodies := seen.All()
	return content, bodies[len(bodies)-1]
}

func messageWith(blocks string) string {
	return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` + blocks + `],"stop_reason":"tool_use"}`
}

func useOf(id, command string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"Bash","input":{"command": "` + command + `"}}`
}

func TestARefusedCallIsACallAgainInTheNextRequest(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, strictMessages(t, &seen, messageWith(`{"type":"text","text":"Look."},`+useOf("toolu_a", "forbidden"))))
	content, second := converse(t, g, &seen, func(content string) string {
		return `{ "model":"m", "max_tokens":9,` + toolsPart + `, "messages":[ {"role":"user","content":"go"} , {"role":"assistant","content":` + content + `}, {"role":"user","content":"why?"} ] }`
	})
	_, notice, _ := strings.Cut(content, `,{"type":"text","text":`)
	notice = strings.TrimSuffix(notice, "}]")
	want := `{ "model":"m", "max_tokens":9,` + toolsPart + `, "messages":[ {"role":"user","content":"go"} , {"role":"assistant","content":[{"type":"text","text":"Look."},` + useOf("toolu_a", "forbidden") +
		`]}, {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_a","is_error":true,"content":` + notice + `},{"type":"text","text":"why?"}]} ] }`
	if second != want {
		t.Errorf("the upstream got\n%s\nwant\n%s", second, want)
	}
	var notes []string
	for _, e := range g.Entries(audit.TypeDecision) {
		if e.Call.Kind == holdgate.KindModelRequest {
			notes = append(notes, e.Note)
		}
	}
	if len(notes) != 2 || strings.Join(notes, "|") != "|rehydrated 1 refusal" && strings.Join(notes, "|") != "rehydrated 1 refusal|" {
		t.Errorf("the log notes %q", notes)
	}
	g.Verified()
}

func TestEveryFormatPutsRefusedCallsBack(t *testing.T) {
	t.Parallel()
	for _, c := range route.Codecs(8 << 20) {
		if _, ok := c.(route.Rehydrator); !ok {
			t.Errorf("%s does not", c.Name())
		}
	}
}

// What a person denied of a streamed answer is put back for its own session
// only, and only into a request that may be changed.
func TestARefusedCallIsPutBackForItsSessionOnly(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_a", "gated"), proxytest.MessageTool("1", "toolu_b", "ls"), proxytest.MessageEnd("tool_use")))
	send := func(session, body string, header ...string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+proxytest.Messages, strings.NewReader(body))
		proxytest.Must(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Session-Id", session)
		for _, h := range header {
			req.Header.Set(h, "x")
		}
		resp, err := g.Client.Do(req)
		proxytest.Must(t, err)
		defer resp.Body.Close()
		return proxytest.ReadAll(t, resp.Body)
	}
	first := make(chan string)
	go func() {
		first <- send("one", strings.Replace(proxytest.AskStream, `{"model"`, `{`+toolsPart+`,"model"`, 1))
	}()
	g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "not today")
	_, notice, _ := strings.Cut(<-first, `"type":"text_delta","text":`)
	notice, _, _ = strings.Cut(notice, "}}")
	next := func(model string) string {
		return `{"model":"` + model + `","stream":false,` + toolsPart + `,"messages":[{"role":"assistant","content":[{"type":"text","text":` + notice + `},` + useOf("toolu_b", "ls") + `]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_b","content":"x"}]}]}`
	}
	sent := func() string { all := seen.All(); return all[len(all)-1] }
	for name, tt := range map[string]struct {
		session, header string
		back            bool
	}{
		"its own session":                {"one", "X-Other", true},
		"another session":                {"two", "X-Other", false},
		"a request signed over its body": {"one", "X-Amz-Content-Sha256", false},
	} {
		body := next("forbids-nothing")
		seen.Mu.Lock()
		seen.Bodies = nil
		seen.Mu.Unlock()
		// The answer holds a call again: all that counts is what was sent for it.
		done := make(chan struct{})
		go func() { defer close(done); send(tt.session, body, tt.header) }()
		g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
		<-done
		want := body
		if tt.back {
			want = strings.Replace(want, `{"type":"text","text":`+notice+`}`, useOf("toolu_a", "gated"), 1)
			want = strings.Replace(want, `{"type":"tool_result","tool_use_id":"toolu_b"`, `{"type":"tool_result","tool_use_id":"toolu_a","is_error":true,"content":`+notice+`},{"type":"tool_result","tool_use_id":"toolu_b"`, 1)
		}
		if got := sent(); got != want {
			t.Errorf("%s: the upstream got\n%s\nwant\n%s", name, got, want)
		}
	}
	g.Verified()
}

// The notice of what policy denies can be guessed, and who asks is the client's
// own word. What was refused goes back only to where it came from, on the same
// account.
func TestARefusedCallIsPutBackOnItsAccountOnly(t *testing.T) {
	t.Parallel()
	var seen, seenOther proxytest.Counter
	g := proxytest.NewTo(t, map[string]string{
		"test":  proxytest.NewUpstream(t, strictMessages(t, &seen, messageWith(useOf("toolu_a", "forbidden")))),
		"other": proxytest.NewUpstream(t, strictMessages(t, &seenOther, messageWith(`{"type":"text","text":"done"}`))),
	}, nil)
	send := func(path, key, body string) (answer string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+path, strings.NewReader(body))
		proxytest.Must(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Api-Key", key)
		resp, err := g.Client.Do(req)
		proxytest.Must(t, err)
		defer resp.Body.Close()
		return proxytest.ReadAll(t, resp.Body)
	}
	var answer struct{ Content []struct{ Text string } }
	proxytest.Must(t, json.Unmarshal([]byte(send("/up/test/v1/messages?key=q", "one", `{"model":"m","max_tokens":9,`+toolsPart+`,"messages":[{"role":"user","content":"go"}]}`)), &answer))
	notice := answer.Content[0].Text
	guesses := func(n int) (out string) {
		for i := range n {
			out += strings.Replace(notice, "(log entry ", fmt.Sprintf("(log entry %d", i+1), 1) + "\n\n"
		}
		return out
	}
	for name, tt := range map[string]struct {
		path, key, before string
		seen              *proxytest.Counter
		back              bool
	}{
		"the same account":           {"/up/test/v1/messages?key=q", "one", "", &seen, true},
		"a key of another":           {"/up/test/v1/messages?key=q", "two", "", &seen, false},
		"a key of another, in query": {"/up/test/v1/messages?key=r", "one", "", &seen, false},
		"another upstream":           {"/up/other/v1/messages?key=q", "one", "", &seenOther, false},
		"behind some guesses":        {"/up/test/v1/messages?key=q", "one", guesses(wire.MaxUnknown - 1), &seen, true},
		"behind too many guesses":    {"/up/test/v1/messages?key=q", "one", guesses(wire.MaxUnknown), &seen, false},
	} {
		text, err := json.Marshal(tt.before + notice)
		proxytest.Must(t, err)
		body := `{"model":"m","max_tokens":9,` + toolsPart + `,"messages":[{"role":"assistant","content":` + string(text) + `},{"role":"user","content":"` + name + `"}]}`
		send(tt.path, tt.key, body)
		sent := tt.seen.All()
		got := sent[len(sent)-1]
		if !tt.back && got != body {
			t.Errorf("%s: the upstream got\n%s\nwant\n%s", name, got, body)
		}
		if tt.back && !strings.Contains(got, useOf("toolu_a", "forbidden")) {
			t.Errorf("%s: the call is not put back: %s", name, got)
		}
	}
	g.Verified()
}
