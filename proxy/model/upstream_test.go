package model_test

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

const plainCall = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"forbidden"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`

// An upstream's answer that is not understood, or that two readers could take
// differently, releases no call.
func TestAnswersThatAreNotUnderstoodReleaseNothing(t *testing.T) {
	t.Parallel()
	call := proxytest.MessageTool("0", "toolu_1", "ls")
	doubled := strings.Replace(call, `"type":"tool_use"`, `"type":"text","type":"tool_use"`, 1)
	tests := []struct {
		name, ask, contentType, body string
		status                       int
		rule                         string
	}{
		{"JSON that is cut", proxytest.AskPlain, "application/json", plainCall[:len(plainCall)-2], 502, holdgate.RuleMalformed},
		{"JSON with a key twice", proxytest.AskPlain, "application/json", strings.Replace(plainCall, `"name":"Bash"`, `"name":"ls","name":"Bash"`, 1), 502, holdgate.RuleMalformed},
		{"two JSON values", proxytest.AskPlain, "application/json", plainCall + plainCall, 502, holdgate.RuleMalformed},
		{"HTML", proxytest.AskPlain, "text/html", "<html>busy</html>", 502, holdgate.RuleMalformed},
		{"nothing", proxytest.AskPlain, "application/json", "", 502, holdgate.RuleMalformed},
		{"events that are called JSON", proxytest.AskStream, "application/json", proxytest.MessageStart() + call + proxytest.MessageEnd("tool_use"), 502, holdgate.RuleMalformed},
		{"more than the limit", proxytest.AskPlain, "application/json", `{"x":"` + strings.Repeat("y", 8<<10) + `",` + plainCall[1:], 502, holdgate.RuleTooLarge},
		{"a key twice in an event", proxytest.AskStream, "text/event-stream", proxytest.MessageStart() + doubled + proxytest.MessageEnd("tool_use"), 200, holdgate.RuleMalformed},
		{"a stream cut inside a call", proxytest.AskStream, "text/event-stream", proxytest.MessageStart() + call[:len(call)-60], 200, holdgate.RuleMalformed},
		{"a stream of more than the limit", proxytest.AskStream, "text/event-stream", proxytest.MessageStart() + proxytest.MessageText("0", strings.Repeat("y", 8<<10)), 200, holdgate.RuleTooLarge},
		{"JSON that is called events, to a client that asked for JSON", proxytest.AskPlain, "text/event-stream", plainCall[:len(plainCall)-1], 502, holdgate.RuleMalformed},
		{"JSON behind a byte order mark that is called events", proxytest.AskPlain, "text/event-stream", "\ufeff" + plainCall, 502, holdgate.RuleMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				_, _ = io.WriteString(w, tt.body)
			}), proxytest.WithBodyLimit(8<<10))
			resp := g.Post(t.Context(), proxytest.Messages, tt.ask)
			body := proxytest.ReadAll(t, resp.Body)
			if resp.StatusCode != tt.status || !strings.Contains(body, `"type":"error"`) {
				t.Errorf("status %d, want %d and an error: %s", resp.StatusCode, tt.status, body)
			}
			if strings.Contains(body, "toolu_1") {
				t.Errorf("something of the call went on:\n%s", body)
			}
			if rules := g.Refusals(); len(rules) != 1 || rules[0] != tt.rule {
				t.Errorf("logged: %v, want %s", rules, tt.rule)
			}
		})
	}
}

// What an answer is called does not decide how it is read.
func TestAnswersAreReadAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, ask, contentType, body string }{
		{"JSON to a client that asked for a stream", proxytest.AskStream, "application/json", plainCall},
		{"JSON that is called text", proxytest.AskPlain, "text/plain", plainCall},
		{"JSON that is called events", proxytest.AskPlain, "text/event-stream", plainCall},
		{"JSON behind blanks that is called events", proxytest.AskPlain, "text/event-stream", "\n \t" + plainCall},
		{"JSON that is called nothing", proxytest.AskPlain, "", plainCall},
		{"events to a client that asked for JSON", proxytest.AskPlain, "text/event-stream; charset=utf-8", proxytest.MessageStart() + proxytest.MessageTool("0", "toolu_1", "forbidden") + proxytest.MessageEnd("tool_use")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				if tt.contentType != "" {
					w.Header().Set("Content-Type", tt.contentType)
				}
				_, _ = io.WriteString(w, tt.body)
			}))
			resp := g.Post(t.Context(), proxytest.Messages, tt.ask)
			body := proxytest.ReadAll(t, resp.Body)
			if strings.Contains(body, "toolu_1") || !strings.Contains(body, proxytest.NoticeWord) {
				t.Errorf("the denied call went on:\n%s", body)
			}
			if got := resp.Header.Get("Content-Type"); got != tt.contentType {
				t.Errorf("the answer is called %q, and was %q", got, tt.contentType)
			}
		})
	}
}

func TestAnAnswerThatBreaksOffIsNotTakenForWhole(t *testing.T) {
	t.Parallel()
	whole := proxytest.MessageStart() + proxytest.MessageText("0", "before") + proxytest.MessageTool("1", "toolu_1", "ls") + proxytest.MessageEnd("tool_use")
	for _, cut := range []int{len(proxytest.MessageStart()) + 10, strings.Index(whole, "toolu_1"), len(whole) - 30} {
		t.Run(fmt.Sprintf("stream at byte %d", cut), func(t *testing.T) {
			g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, whole[:cut])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}))
			if body := proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body); !strings.Contains(body, "holdgate ended this answer") {
				t.Errorf("got:\n%s", body)
			}
		})
	}
	t.Run("JSON", func(t *testing.T) {
		g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"a":`)
			panic(http.ErrAbortHandler)
		}))
		if resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain); resp.StatusCode != 502 {
			t.Errorf("status %d", resp.StatusCode)
		}
	})
	t.Run("an error's body", func(t *testing.T) {
		g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(529)
			_, _ = io.WriteString(w, `{"a":`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}))
		resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain)
		if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 502 || strings.Contains(body, `{"a":`) {
			t.Error("half an error looks whole")
		}
	})
}

func TestCompressedAnswersAreDecoded(t *testing.T) {
	t.Parallel()
	codings := map[string]func(io.Writer) io.WriteCloser{
		"br": func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser {
			z, _ := flate.NewWriter(w, flate.BestSpeed) // a level that exists
			return z
		},
		"zstd": func(w io.Writer) io.WriteCloser {
			z, _ := zstd.NewWriter(w) // without options: cannot fail
			return z
		},
	}
	compress := func(t *testing.T, coding, s string) []byte {
		if coding == "gzip" {
			return proxytest.Zipped(t, []byte(s))
		}
		var buf bytes.Buffer
		w := codings[coding](&buf)
		_, err := io.WriteString(w, s)
		proxytest.Must(t, err)
		proxytest.Must(t, w.Close())
		return buf.Bytes()
	}
	stream := proxytest.MessageStart() + proxytest.MessageText("0", "before") + proxytest.MessageTool("1", "toolu_1", "ls") + proxytest.MessageEnd("tool_use")
	for _, coding := range []string{"gzip", "br", "deflate", "zstd"} {
		for _, tt := range []struct{ name, ask, contentType, body string }{
			{"stream", proxytest.AskStream, "text/event-stream", stream},
			{"plain", proxytest.AskPlain, "application/json", proxytest.EmptyMessage},
		} {
			t.Run(coding+" "+tt.name, func(t *testing.T) {
				g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", tt.contentType)
					w.Header().Set("Content-Encoding", coding)
					_, _ = w.Write(compress(t, coding, tt.body))
				}))
				resp := g.Post(t.Context(), proxytest.Messages, tt.ask)
				if got := proxytest.ReadAll(t, resp.Body); got != tt.body || resp.Header.Get("Content-Encoding") != "" {
					t.Errorf("Content-Encoding %q, got:\n%s", resp.Header.Get("Content-Encoding"), got)
				}
			})
		}
	}
	t.Run("in a coding that nobody knows", func(t *testing.T) {
		g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "lzma")
			_, _ = io.WriteString(w, proxytest.EmptyMessage)
		}))
		if resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain); resp.StatusCode != 502 || len(g.Refusals()) != 1 {
			t.Errorf("status %d, logged: %v", resp.StatusCode, g.Refusals())
		}
	})
}

func TestErrorsOfTheUpstreamPassAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 413, 429, 500, 503, 529} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			body := `{ "type":"error","error":{"type":"x","message":"m"} }`
			g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Retry-After", "7")
				w.Header().Set("Request-Id", "req_1")
				w.Header().Set("Connection", "X-Hop")
				w.Header().Set("X-Hop", "1")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			}))
			resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskStream)
			if got := proxytest.ReadAll(t, resp.Body); resp.StatusCode != status || got != body {
				t.Errorf("status %d, body %q", resp.StatusCode, got)
			}
			if resp.Header.Get("Retry-After") != "7" || resp.Header.Get("Request-Id") != "req_1" || resp.Header.Get("X-Hop") != "" {
				t.Errorf("headers: %v", resp.Header)
			}
		})
	}
}

func TestAnUpstreamThatCannotBeReached(t *testing.T) {
	t.Parallel()
	up := proxytest.NewUpstream(t, http.NotFoundHandler())
	g := proxytest.NewTo(t, map[string]string{"test": "http://127.0.0.1:1"}, map[string]string{"files": "http://127.0.0.1:1", "up": up})
	for _, tt := range []struct{ path, body, want string }{
		{proxytest.Messages, proxytest.AskPlain, `"type":"error"`},
		{"/mcp/files", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, `"id":7,"error"`},
		{"/up/test/x", `{}`, `"status":502`},
	} {
		resp := g.Post(t.Context(), tt.path, tt.body)
		if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 502 || !strings.Contains(body, tt.want) {
			t.Errorf("%s: status %d: %s", tt.path, resp.StatusCode, body)
		}
	}
}

func TestWhatAProviderRanItselfIsObserved(t *testing.T) {
	t.Parallel()
	stream := proxytest.MessageStart() + strings.ReplaceAll(proxytest.MessageTool("0", "srv_1", "forbidden"), `"type":"tool_use"`, `"type":"server_tool_use"`) + proxytest.MessageEnd("end_turn")
	g := proxytest.New(t, proxytest.Stream(&proxytest.Counter{}, stream))
	if got := proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body); got != stream {
		t.Errorf("the answer was changed:\n%s", got)
	}
	if n := len(g.Entries(audit.TypeObserved)); n != 1 {
		t.Errorf("%d entries say what was observed, want 1", n)
	}
}
