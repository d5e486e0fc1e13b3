package model_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/bedrock"
	"github.com/holdgate/holdgate/proxy/wire"
)

// framer answers with messages of an event stream, flushed one by one.
func framer(seen *proxytest.Counter, status int, messages ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Saw(r)
		w.Header().Set("Content-Type", bedrock.StreamType)
		w.WriteHeader(status)
		rc := http.NewResponseController(w)
		for _, m := range messages {
			_, _ = io.WriteString(w, m)
			_ = rc.Flush()
		}
	})
}

func awsEvent(typ, payload string) string {
	return string(wire.AppendMessage(nil, "event", typ, []byte(payload)))
}

// converseCall is a streamed answer of Converse that asks for a command.
func converseCall(command string) []string {
	return []string{
		awsEvent("messageStart", `{"role":"assistant","p":"ab"}`),
		awsEvent("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"I will."},"p":"abc"}`),
		awsEvent("contentBlockStop", `{"contentBlockIndex":0}`),
		awsEvent("contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t1","name":"Bash"}}}`),
		awsEvent("contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"command\":\"`+command+`\"}"}}}`),
		awsEvent("contentBlockStop", `{"contentBlockIndex":1}`),
		awsEvent("messageStop", `{"stopReason":"tool_use"}`),
	}
}

const (
	converseStream = "/up/test/model/us.amazon.nova-pro-v1:0/converse-stream"
	converseBody   = `{"messages":[{"role":"user","content":[{"text":"go"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"Bash"}}]}}`
	invokeClaude   = "/up/test/model/anthropic.claude-v9:0/invoke-with-response-stream"
	claudeBody     = `{"anthropic_version":"bedrock-2023-05-31","messages":[]}`
)

// signedWith sends a request that is signed at some time.
func signedWith(g *proxytest.Sidecar, ctx context.Context, path, body, key, signature string) *http.Response {
	g.T.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+path, strings.NewReader(body))
	proxytest.Must(g.T, err)
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+key+"/20261122/eu-west-1/bedrock/aws4_request, SignedHeaders=host, Signature="+signature)
	resp, err := g.Client.Do(req)
	proxytest.Must(g.T, err)
	g.T.Cleanup(func() { resp.Body.Close() })
	return resp
}

// messagesOf reads the messages of a stream one by one.
func messagesOf(t *testing.T, r io.Reader) func() wire.Message {
	var s wire.MessageScanner
	return func() wire.Message {
		t.Helper()
		for b := make([]byte, 4<<10); ; {
			m, ok, err := s.Next()
			proxytest.Must(t, err)
			if ok {
				return m
			}
			n, err := r.Read(b)
			proxytest.Must(t, err)
			s.Push(b[:n])
		}
	}
}

// TestBedrockAnswerIsPickedUpUnderAnotherSignature has the client of a held
// call leave and ask again: signatures differ from request to request.
func TestBedrockAnswerIsPickedUpUnderAnotherSignature(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	answer := converseCall("gated")
	g := proxytest.New(t, framer(&seen, http.StatusOK, answer...), proxytest.WithIdle(20*time.Millisecond))
	resp := signedWith(g, t.Context(), converseStream, converseBody, "AKIA1", "aaaa")
	before, alive := "", false
	for next := messagesOf(t, resp.Body); before != strings.Join(answer[:3], "") || !alive; {
		m := next()
		if m.Type == "ping" {
			alive = before != ""
			continue
		}
		if before += string(m.Raw); len(before) > len(strings.Join(answer[:3], "")) {
			t.Fatalf("before the call is decided it sent %q", before)
		}
	}
	if typ := resp.Header.Get("Content-Type"); typ != bedrock.StreamType {
		t.Errorf("the stream is of type %s", typ)
	}
	held := g.Pending(1)[0]
	resp.Body.Close()
	g.Noticed()
	g.Decide(held, holdgate.AnswerApprove, "")
	got := proxytest.ReadAll(t, signedWith(g, t.Context(), converseStream, converseBody, "AKIA1", "bbbb").Body)
	if got = strings.ReplaceAll(got, awsEvent("ping", "{}"), ""); got != strings.Join(answer, "") {
		t.Errorf("asked again, it sent %q", got)
	}
	if n := len(seen.All()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	other := signedWith(g, t.Context(), converseStream, converseBody, "AKIA2", "cccc")
	g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "")
	proxytest.ReadAll(t, other.Body)
	if n := len(seen.All()); n != 2 {
		t.Errorf("another account's request did not reach the model: %d", n)
	}
	g.Verified()
}

// TestBedrockNoticesStayWhereRequestsAreSigned has a notice in the next
// request, signed and with a key of the API's own.
func TestBedrockNoticesStayWhereRequestsAreSigned(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, framer(&seen, http.StatusOK, converseCall("forbidden")...))
	ask := func(post func(body string) *http.Response) {
		t.Helper()
		var s wire.MessageScanner
		s.Push([]byte(proxytest.ReadAll(t, post(converseBody).Body)))
		notice := ""
		for m, ok, err := s.Next(); ok || err != nil; m, ok, err = s.Next() {
			proxytest.Must(t, err)
			if words, err := wire.Text(wire.Find(wire.Find(m.Payload, "delta"), "text")); err == nil && strings.HasPrefix(words, proxytest.NoticeWord) {
				notice = words
			}
		}
		body := strings.Replace(converseBody, `]}],"toolConfig"`, `]},{"role":"assistant","content":[{"text":`+string(wire.AppendText(nil, notice))+`}]},{"role":"user","content":[{"text":"?"}]}],"toolConfig"`, 1)
		proxytest.ReadAll(t, post(body).Body)
	}
	ask(func(body string) *http.Response {
		return signedWith(g, t.Context(), converseStream, body, "AKIA1", "aaaa")
	})
	if next := seen.All()[1]; strings.Contains(next, "toolUse") || !strings.Contains(next, proxytest.NoticeWord) {
		t.Errorf("signed: the model is told %s", next)
	}
	ask(func(body string) *http.Response { return g.Post(t.Context(), converseStream, body) })
	if next := seen.All()[3]; !strings.Contains(next, `{"toolUse":{"toolUseId":"t1","name":"Bash","input":{"command":"forbidden"}}}`) || !strings.Contains(next, `"status":"error"`) {
		t.Errorf("with a key: the model is told %s", next)
	}
}

// TestBedrockStreamWithAnErrorStatusIsRefused has an event stream under a
// status under which nobody should look for calls.
func TestBedrockStreamWithAnErrorStatusIsRefused(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, framer(&seen, http.StatusBadRequest, converseCall("ls")...))
	resp := g.Post(t.Context(), converseStream, converseBody)
	if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != http.StatusBadGateway || strings.Contains(body, "Bash") || !strings.Contains(body, "__type") {
		t.Errorf("%d: %s", resp.StatusCode, body)
	}
}

// TestBedrockModelsThatNobodyReads invokes models of other families.
func TestBedrockModelsThatNobodyReads(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, path, body string
		allow            bool
		status           int
		passes           bool
	}{
		{"another family", "/up/test/model/mistral.large/invoke", `{"prompt":"x"}`, false, http.StatusBadRequest, false},
		{"another family, let through", "/up/test/model/mistral.large/invoke", `{"prompt":"x"}`, true, http.StatusOK, true},
		{"an embedding", "/up/test/model/amazon.titan-embed-text-v2:0/invoke", `{"inputText":"x"}`, false, http.StatusOK, true},
		{"an agent of the provider's", "/up/test/agents/A/agentAliases/B/sessions/S/text", `{"inputText":"x"}`, false, http.StatusBadRequest, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen proxytest.Counter
			g := proxytest.New(t, proxytest.Answer(&seen, 200, `{"embedding":[1]}`), func(c *proxy.Config) { c.AllowUnsupported = tt.allow })
			resp := g.Post(t.Context(), tt.path, tt.body)
			body := proxytest.ReadAll(t, resp.Body)
			if resp.StatusCode != tt.status || (len(seen.All()) == 1 && seen.All()[0] == tt.body) != tt.passes {
				t.Errorf("status %d, reached the upstream: %q: %s", resp.StatusCode, seen.All(), body)
			}
			if rules := g.Refusals(); tt.passes == (len(rules) == 1 && rules[0] == holdgate.RuleUnsupported) {
				t.Errorf("logged: %v", rules)
			}
		})
	}
}

// TestBedrockInvokedOverHTTP2 denies a call of Claude's to a client that speaks
// HTTP/2 without TLS, as AWS's SDK for JavaScript does.
func TestBedrockInvokedOverHTTP2(t *testing.T) {
	t.Parallel()
	chunk := func(event string) string {
		return awsEvent("chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(event))+`","p":"abc"}`)
	}
	var seen proxytest.Counter
	g := proxytest.New(t, framer(&seen, http.StatusOK,
		chunk(`{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}`),
		chunk(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"Bash","input":{}}}`),
		chunk(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"forbidden\"}"}}`),
		chunk(`{"type":"content_block_stop","index":0}`),
		chunk(`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`),
		chunk(`{"type":"message_stop"}`)))
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: p}
	defer tr.CloseIdleConnections()
	g.Client = &http.Client{Transport: tr}
	resp := g.Post(t.Context(), invokeClaude, claudeBody)
	if resp.ProtoMajor != 2 {
		t.Errorf("it was served over %s", resp.Proto)
	}
	var s wire.MessageScanner
	s.Push([]byte(proxytest.ReadAll(t, resp.Body)))
	said := ""
	for m, ok, err := s.Next(); ok || err != nil; m, ok, err = s.Next() {
		proxytest.Must(t, err)
		bytes, err := wire.Text(wire.Find(m.Payload, "bytes"))
		proxytest.Must(t, err)
		event, err := base64.StdEncoding.DecodeString(bytes)
		proxytest.Must(t, err)
		said += string(event)
	}
	if strings.Contains(said, "tool_use") || !strings.Contains(said, proxytest.NoticeWord) || !strings.Contains(said, `"stop_reason":"end_turn"`) {
		t.Errorf("it sent %s", said)
	}
}

// TestTunnelsAreHTTP1 asks for a tunnel over HTTP/2.
func TestTunnelsAreHTTP1(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, proxytest.Answer(&proxytest.Counter{}, 200, `{}`))
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: p}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodConnect, g.URL, nil)
	proxytest.Must(t, err)
	resp, err := tr.RoundTrip(req)
	proxytest.Must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusHTTPVersionNotSupported {
		t.Errorf("status %d", resp.StatusCode)
	}
}
