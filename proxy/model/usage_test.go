package model_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/proxytest"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// usage is what the only session that asked has used.
func usage(t *testing.T, g *proxytest.Sidecar) holdgate.Usage {
	t.Helper()
	list, err := g.Queue.Sessions.List(t.Context(), "")
	proxytest.Must(t, err)
	if len(list) != 1 {
		t.Fatalf("there are %d sessions", len(list))
	}
	agents, err := g.Queue.Sessions.Used(t.Context())
	proxytest.Must(t, err)
	if diff := cmp.Diff(list[0].Usage, agents[list[0].Agent]); diff != "" {
		t.Errorf("the agent has used something else than its session (-session +agent):\n%s", diff)
	}
	return list[0].Usage
}

// example answers as the example of a format does, as a stream where one is asked for.
func example(e wire.Example) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		stream, _, _ := strings.Cut(e.StreamPath, "?")
		if e.StreamPath != e.Path && strings.HasSuffix(r.URL.Path, stream) || e.StreamPath == e.Path && strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", e.StreamType)
			_, _ = io.WriteString(w, strings.Join(e.Events, ""))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, e.Plain)
	}
}

// In every format, plain, streamed and held, answers are counted once, and policy is told
// of it before the next request goes on.
func TestWhatAnswersUseAddsUpInEveryFormat(t *testing.T) {
	t.Parallel()
	const policy = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

decision := {"action": "hold", "rule": "test.budget", "reason": "it has used much"} if {
	input.kind == "model_request"
	input.usage.tokens >= 3300
} else := {"action": "hold", "rule": "test.call", "reason": "it has used much"} if {
	input.kind == "tool_call"
	input.usage.tokens >= 3300
}
`
	for _, c := range route.Codecs(8 << 20) {
		t.Run(c.Name(), func(t *testing.T) {
			t.Parallel()
			e := c.Example()
			g := proxytest.New(t, example(e), proxytest.WithPolicy(t, policy), func(p *proxy.Config) {
				p.Formats = []route.Format{{Host: p.Upstreams["test"].Host, Name: c.Name()}}
			})
			ask := func(path string, stream bool, words string) chan string {
				got := make(chan string, 1)
				go func() {
					_, body := g.Send(g.Client, http.MethodPost, g.URL+"/up/test"+path, e.Body(stream, words), proxytest.TypeJSON)
					got <- body
				}()
				return got
			}
			<-ask(e.Path, false, "one")
			<-ask(e.StreamPath, true, "two")
			if diff := cmp.Diff(holdgate.Usage{Answers: 2, Metered: 2, Input: 1800, Output: 400}, usage(t, g)); diff != "" {
				t.Fatalf("after two answers (-want +got):\n%s", diff)
			}
			three := ask(e.Path, false, "three") // its call is held, with this answer in the sum
			g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
			<-three
			four := ask(e.StreamPath, true, "four") // is held as a whole
			r := g.Pending(1)[0]
			if r.Rule != "test.budget" {
				t.Errorf("it is held by %s", r.Rule)
			}
			g.Decide(r, holdgate.AnswerApprove, "")
			g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "") // its call
			if body := <-four; body != strings.Join(e.Events, "") {
				t.Errorf("the stream is another one:\n%s", body)
			}
			want := holdgate.Usage{Answers: 4, Metered: 4, Input: 3600, Output: 800}
			if diff := cmp.Diff(want, usage(t, g)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A held answer that the client asks for again was counted once.
func TestAnAnswerThatIsAskedForAgainCountsOnce(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.Handler{
		"plain":    proxytest.Answer(new(proxytest.Counter), 200, proxytest.GatedPlain),
		"streamed": proxytest.Stream(new(proxytest.Counter), proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated thing"), proxytest.MessageEnd("tool_use")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := proxytest.New(t, answer)
			ask := proxytest.AskPlain
			if name == "streamed" {
				ask = proxytest.AskStream
			}
			ctx, leave := context.WithCancel(t.Context())
			first, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+proxytest.Messages, strings.NewReader(ask))
			proxytest.Must(t, err)
			first.Header.Set("Content-Type", "application/json")
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				if resp, err := g.Client.Do(first); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}()
			r := g.Pending(1)[0]
			leave()
			<-gone
			g.Noticed()
			g.Decide(r, holdgate.AnswerApprove, "")
			g.Send(g.Client, http.MethodPost, g.URL+proxytest.Messages, ask, proxytest.TypeJSON)
			if u := usage(t, g); u.Answers != 1 || u.Metered != 1 {
				t.Errorf("%+v", u)
			}
		})
	}
}

// An answer that does not come to its end says too little of what it used: it is neither
// metered nor priced, but what it has said until then counts.
func TestAnAnswerThatBreaksOffIsNotMetered(t *testing.T) {
	t.Parallel()
	begun := proxytest.MessageStart() // which says that it has used 1 token until now
	const chunk = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"hi"},"finish_reason":null}],"usage":{"prompt_tokens":1,"completion_tokens":1}}` + "\n\n"
	for _, tt := range []struct {
		name, format, ask string
		answer            http.HandlerFunc
		leaves            bool // the client, once the model has begun
		want              holdgate.Usage
	}{
		{"the provider ends a stream", "anthropic", proxytest.AskStream, proxytest.Stream(new(proxytest.Counter), begun).ServeHTTP, false, holdgate.Usage{Answers: 1, Input: 1, Output: 1, Cost: 10, Currency: "USD"}},
		{"the provider cuts a stream off", "anthropic", proxytest.AskStream, begins(begun, true), false, holdgate.Usage{Answers: 1, Input: 1, Output: 1, Cost: 10, Currency: "USD"}},
		{"the provider ends a stream in an error", "anthropic", proxytest.AskStream, proxytest.Stream(new(proxytest.Counter), begun, proxytest.Event("error", `{"type":"error","error":{"type":"overloaded_error","message":"later"}}`)).ServeHTTP, false, holdgate.Usage{Answers: 1, Input: 1, Output: 1, Cost: 10, Currency: "USD"}},
		{"the provider stops without a word of its usage", "anthropic", proxytest.AskStream, proxytest.Stream(new(proxytest.Counter), begun, proxytest.Event("message_stop", `{"type":"message_stop"}`)).ServeHTTP, false, holdgate.Usage{Answers: 1, Input: 1, Output: 1, Cost: 10, Currency: "USD"}},
		{"the client leaves a stream", "anthropic", proxytest.AskStream, begins(begun, false), true, holdgate.Usage{Answers: 1, Input: 1, Output: 1, Cost: 10, Currency: "USD"}},
		{"the client leaves a stream whose every chunk says it", "openai", proxytest.AskStream, begins(chunk, false), true, holdgate.Usage{Answers: 1, Input: 1, Output: 1, Cost: 10, Currency: "USD"}},
		{"the client does not wait", "anthropic", proxytest.AskPlain, begins("", false), true, holdgate.Usage{Answers: 1}},
		{"the answer cannot be read", "anthropic", proxytest.AskPlain, proxytest.Answer(new(proxytest.Counter), 200, `{"usage":{"input_tokens":9},"usage":0}`).ServeHTTP, false, holdgate.Usage{Answers: 1}},
		{"an answer of an unknown form", "anthropic", proxytest.AskPlain, proxytest.Answer(new(proxytest.Counter), 200, `"hi"`).ServeHTTP, false, holdgate.Usage{Answers: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			used, asked := make(chan holdgate.Usage, 9), make(chan struct{}, 9)
			path := map[string]string{"anthropic": proxytest.Messages, "openai": "/up/test/v1/chat/completions"}[tt.format]
			g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				tt.answer(w, r)
			}), func(c *proxy.Config) {
				c.Formats = []route.Format{{Host: c.Upstreams["test"].Host, Name: tt.format}}
				c.Models.OnUsed = func(u holdgate.Usage) { used <- u }
				c.Models.Prices = func() holdgate.Prices {
					return holdgate.Prices{Models: map[string]holdgate.Price{"*": {Input: 9e6, Output: 1e6}}}
				}
			})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+path, strings.NewReader(tt.ask))
			proxytest.Must(t, err)
			r.Header.Set("Content-Type", "application/json")
			over := make(chan struct{})
			go func() {
				defer close(over)
				resp, err := g.Client.Do(r)
				if err != nil {
					return
				}
				defer resp.Body.Close()
				if tt.leaves {
					_, _ = resp.Body.Read(make([]byte, 9))
					leave()
				}
				_, _ = io.Copy(io.Discard, resp.Body)
			}()
			<-asked
			if tt.leaves && tt.ask == proxytest.AskPlain {
				leave()
			}
			<-over
			select {
			case got := <-used:
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			case <-time.After(proxytest.Patience):
				t.Fatal("it was not counted")
			}
			if diff := cmp.Diff(tt.want, usage(t, g)); diff != "" {
				t.Errorf("of the session (-want +got):\n%s", diff)
			}
			if len(used) > 0 {
				t.Error("it counts twice")
			}
		})
	}
}

// In every format whose streams say that they are over, a client may leave there, while the
// provider keeps the stream open. The answer is counted before the client can ask again.
func TestAClientMayLeaveOnceAStreamIsOver(t *testing.T) {
	t.Parallel()
	for _, c := range route.Codecs(8 << 20) {
		e := c.Example()
		said := strings.Join(e.Events, "")
		if c.Name() == "gemini" || !strings.Contains(said, "900") {
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			t.Parallel()
			g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", e.StreamType)
				_, _ = io.WriteString(w, said)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}), func(p *proxy.Config) {
				p.Formats = []route.Format{{Host: p.Upstreams["test"].Host, Name: c.Name()}}
			})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/up/test"+e.StreamPath, strings.NewReader(e.Body(true, "go")))
			proxytest.Must(t, err)
			r.Header.Set("Content-Type", "application/json")
			resp, err := g.Client.Do(r)
			proxytest.Must(t, err)
			defer resp.Body.Close()
			_, err = io.ReadFull(resp.Body, make([]byte, len(said)))
			proxytest.Must(t, err)
			want := holdgate.Usage{Answers: 1, Metered: 1, Input: 900, Output: 200}
			if diff := cmp.Diff(want, usage(t, g)); diff != "" {
				t.Errorf("once the client has all of it (-want +got):\n%s", diff)
			}
		})
	}
}

// begins begins an answer, and breaks off there or waits until nobody reads it.
func begins(answer string, breaks bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what the server waits for to see that nobody reads
		if answer != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, answer)
			_ = http.NewResponseController(w).Flush()
		}
		if breaks {
			panic(http.ErrAbortHandler)
		}
		<-r.Context().Done()
	}
}

// The cookbook's rule asks once a session has cost more, by the prices of the configuration
// or by the provider's word, and where the cost is not known.
func TestTheCookbooksBudgetAsks(t *testing.T) {
	t.Parallel()
	rule, err := os.ReadFile("../../docs/cookbook/budget.rego")
	proxytest.Must(t, err)
	for _, tt := range []struct {
		name, usage, currency string
		prices                map[string]holdgate.Price
		asks                  bool
		rule                  string
		want                  holdgate.Usage
	}{
		{"by a price", `{"input_tokens":1000000,"output_tokens":1000000}`, "", map[string]holdgate.Price{"m*": {Input: 1, Output: 9.5}}, true, "budget.ask", holdgate.Usage{Priced: 2, Input: 2e6, Output: 2e6, Cost: 21, Currency: "USD"}},
		{"not more", `{"input_tokens":1000000,"output_tokens":1000000}`, "EUR", map[string]holdgate.Price{"m*": {Input: 1, Output: 9}}, false, "", holdgate.Usage{Priced: 3, Input: 3e6, Output: 3e6, Cost: 30, Currency: "EUR"}},
		{"by the provider's word", `{"input_tokens":1,"output_tokens":1,"cost":10.5}`, "", nil, true, "budget.ask", holdgate.Usage{Priced: 2, Input: 2, Output: 2, Cost: 21, Currency: "USD"}},
		{"the provider's word in another currency", `{"input_tokens":1,"output_tokens":1,"cost":10.5}`, "EUR", nil, false, "", holdgate.Usage{Input: 3, Output: 3}},
		{"without a price", `{"input_tokens":1000000,"output_tokens":1000000}`, "", map[string]holdgate.Price{"other": {Input: 100}}, false, "", holdgate.Usage{Input: 3e6, Output: 3e6}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			plain := `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":` + tt.usage + `}`
			g := proxytest.New(t, proxytest.Answer(new(proxytest.Counter), 200, plain), proxytest.WithSettings(t, "  model: {hosts: auto}\n", string(rule)), func(c *proxy.Config) {
				c.Models.Prices = func() holdgate.Prices { return holdgate.Prices{Currency: tt.currency, Models: tt.prices} }
			})
			ask := func(words string) {
				g.Send(g.Client, http.MethodPost, g.URL+proxytest.Messages, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"`+words+`"}]}`, proxytest.TypeJSON)
			}
			ask("one")
			ask("two")
			if !tt.asks {
				ask("three")
				tt.want.Answers, tt.want.Metered = 3, 3
			} else {
				third := make(chan struct{})
				go func() { ask("three"); close(third) }()
				r := g.Pending(1)[0]
				if r.Rule != tt.rule {
					t.Errorf("it is held by %s", r.Rule)
				}
				defer func() { g.Decide(r, holdgate.AnswerDeny, ""); <-third }()
				tt.want.Answers, tt.want.Metered = 2, 2
			}
			if diff := cmp.Diff(tt.want, usage(t, g)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What Holdgate asks in the agent's place is used, too.
func TestContinuationsCountAsWell(t *testing.T) {
	t.Parallel()
	answers := []string{
		`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"forbidden"}}],"stop_reason":"tool_use","usage":{"input_tokens":100,"cache_read_input_tokens":50,"output_tokens":7}}`,
		`{"id":"msg_2","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"well"}],"stop_reason":"end_turn","usage":{"input_tokens":200,"output_tokens":9}}`,
	}
	asked := 0
	g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answers[min(asked, 1)])
		asked++
	}), func(c *proxy.Config) { c.Models.Rounds = 3 })
	g.Send(g.Client, http.MethodPost, g.URL+proxytest.Messages, proxytest.AskPlain, proxytest.TypeJSON)
	if diff := cmp.Diff(holdgate.Usage{Answers: 2, Metered: 2, Input: 350, Output: 16, CacheRead: 50}, usage(t, g)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What sessions have used is there after a restart.
func TestWhatSessionsUsedIsKept(t *testing.T) {
	t.Parallel()
	var config approvals.Config
	g := proxytest.NewWith(t, proxytest.Parts{Queue: func(c *approvals.Config) { config = *c }},
		map[string]string{"test": proxytest.NewUpstream(t, proxytest.Answer(new(proxytest.Counter), 200, proxytest.EmptyMessage))}, nil)
	g.Send(g.Client, http.MethodPost, g.URL+proxytest.Messages, proxytest.AskPlain, proxytest.TypeJSON)
	want := usage(t, g)
	proxytest.Must(t, g.Queue.Close())
	next, err := approvals.Open(t.Context(), config)
	proxytest.Must(t, err)
	t.Cleanup(func() { _ = next.Close() })
	list, err := next.Sessions.List(t.Context(), "")
	proxytest.Must(t, err)
	if len(list) != 1 || want.Metered != 1 || list[0].Usage != want {
		t.Errorf("there was %+v, and is %+v", want, list)
	}
}
