package model_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/store/audit"
)

func withRounds(n int) proxytest.Option { return func(c *proxy.Config) { c.Models.Rounds = n } }

// A turnFormat is how a format writes whole answers, which a test's upstream
// gives one after another.
type turnFormat struct {
	toolFormat

	text   func(text string) string        // an answer without a call
	with   func(id, command string) string // "Look." and a call
	stream func(request string) string
	typ    string // of a stream
	paths  [2]string
}

// streamed is how the format asks for a stream: at which path, and with what.
func (f turnFormat) streamed(request string) (path, body string) {
	if f.paths[0] != "" {
		return strings.Replace(f.path, f.paths[0], f.paths[1], 1), request
	}
	return f.path, f.stream(request)
}

func turnFormats() []turnFormat {
	formats := toolFormats()
	streamed := func(request string) string { return strings.Replace(request, "{", `{"stream":true,`, 1) }
	anthropicAnswer := func(content, reason string) string {
		return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` + content + `],"stop_reason":"` + reason + `","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":7}}`
	}
	chatAnswer := func(rest, reason string) string {
		return `{"id":"c1","object":"chat.completion","created":5,"model":"m","choices":[{"index":0,"message":{"role":"assistant",` + rest + `},"finish_reason":"` + reason + `"}],"usage":{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17}}`
	}
	geminiAnswer := func(parts string) string {
		return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":7,"totalTokenCount":17},"responseId":"r1"}`
	}
	responsesAnswer := func(items string) string {
		return `{"id":"resp_1","object":"response","created_at":5,"status":"completed","error":null,"model":"m","output":[` + items + `],"usage":{"input_tokens":10,"output_tokens":7,"total_tokens":17}}`
	}
	said := func(id, text string) string {
		return fmt.Sprintf(`{"type":"message","id":"msg_%s","status":"completed","role":"assistant","content":[{"type":"output_text","text":%q,"annotations":[]}]}`, id, text)
	}
	invoked := formats[0]
	invoked.name, invoked.path = "bedrock_invoke", "/up/test/model/anthropic.claude-test/invoke"
	invoked.request = func(turns string) string {
		return strings.Replace(formats[0].request(turns), `"model":"m"`, `"anthropic_version":"bedrock-2023-05-31"`, 1)
	}
	codeAssist := formats[3]
	codeAssist.path = "/up/test/v1internal:generateContent"
	codeAssist.request = func(turns string) string {
		return `{"model":"m","project":"p","request":` + formats[3].request(turns) + `}`
	}
	wrapped := func(parts string) string { return `{"response":` + geminiAnswer(parts) + `,"traceId":"t1"}` }
	keptNowhere := formats[2]
	keptNowhere.request = func(turns string) string { return unkept(formats[2].request(turns)) }
	return slices.Concat(framedTurnFormats(), laterTurnFormats(), []turnFormat{{
		toolFormat: codeAssist, paths: [2]string{":generateContent", ":streamGenerateContent?alt=sse"}, typ: route.TypeEvents,
		text: func(text string) string { return wrapped(fmt.Sprintf(`{"text":%q}`, text)) },
		with: func(id, command string) string {
			return wrapped(`{"text":"Look."},` + formats[3].call(id, command))
		},
	}, {
		toolFormat: keptNowhere, stream: streamed, typ: route.TypeEvents,
		text: func(text string) string { return responsesAnswer(said("last", text)) },
		with: func(id, command string) string {
			return responsesAnswer(said(id, "Look.") + "," + formats[2].call(id, command))
		},
	}, {
		toolFormat: invoked,
		paths:      [2]string{"/invoke", "/invoke-with-response-stream"}, typ: "application/vnd.amazon.eventstream",
		text: func(text string) string {
			return anthropicAnswer(fmt.Sprintf(`{"type":"text","text":%q}`, text), "end_turn")
		},
		with: func(id, command string) string {
			return anthropicAnswer(`{"type":"text","text":"Look."},`+useOf(id, command), "tool_use")
		},
	}, {
		toolFormat: formats[0], stream: streamed, typ: route.TypeEvents,
		text: func(text string) string {
			return anthropicAnswer(fmt.Sprintf(`{"type":"text","text":%q}`, text), "end_turn")
		},
		with: func(id, command string) string {
			return anthropicAnswer(`{"type":"text","text":"Look."},`+useOf(id, command), "tool_use")
		},
	}, {
		toolFormat: formats[1], stream: streamed, typ: route.TypeEvents,
		text: func(text string) string { return chatAnswer(fmt.Sprintf(`"content":%q`, text), "stop") },
		with: func(id, command string) string {
			return chatAnswer(`"content":"Look.","tool_calls":[`+formats[1].call(id, command)+`]`, "tool_calls")
		},
	}, {
		toolFormat: formats[3], paths: [2]string{":generateContent", ":streamGenerateContent?alt=sse"}, typ: route.TypeEvents,
		text: func(text string) string { return geminiAnswer(fmt.Sprintf(`{"text":%q}`, text)) },
		with: func(id, command string) string {
			return geminiAnswer(`{"text":"Look."},` + formats[3].call(id, command))
		},
	}})
}

// laterTurnFormats are those of Google's interactions, of Cohere and of Mistral's conversations.
func laterTurnFormats() []turnFormat {
	streamed := func(request string) string { return strings.Replace(request, "{", `{"stream":true,`, 1) }
	const tools = `"tools":[{"type":"function","function":{"name":"Bash"}}]`
	arguments := func(command string) string { return fmt.Sprintf("%q", fmt.Sprintf(`{"command":%q}`, command)) }
	cohere := func(rest, reason string) string {
		return `{"id":"c1","message":{"role":"assistant",` + rest + `},"finish_reason":"` + reason + `","usage":{"tokens":{"input_tokens":10,"output_tokens":7}}}`
	}
	conversation := func(entries string) string {
		return `{"object":"conversation.response","conversation_id":"conv_1","outputs":[` + entries + `],"usage":{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17}}`
	}
	said := func(id, text string) string {
		return fmt.Sprintf(`{"object":"entry","type":"message.output","id":"msg_%s","role":"assistant","content":%q}`, id, text)
	}
	interaction := func(steps, status string) string {
		return `{"id":"v1","object":"interaction","status":"` + status + `","steps":[` + steps + `],"usage":{"total_input_tokens":10,"total_output_tokens":7,"total_tokens":17}}`
	}
	modelOutput := func(text string) string {
		return fmt.Sprintf(`{"type":"model_output","content":[{"type":"text","text":%q}]}`, text)
	}
	return []turnFormat{{
		toolFormat: toolFormat{name: "interactions", path: "/up/test/v1beta/interactions", request: func(string) string {
			return `{"model":"m","store":false,"tools":[{"type":"function","name":"Bash"}],"input":"go"}`
		}},
		stream: streamed, typ: route.TypeEvents,
		text: func(text string) string { return interaction(modelOutput(text), "completed") },
		with: func(id, command string) string {
			return interaction(modelOutput("Look.")+fmt.Sprintf(`,{"type":"function_call","id":%q,"name":"Bash","arguments":{"command":%q}}`, id, command), "requires_action")
		},
	}, {
		toolFormat: toolFormat{name: "cohere", path: "/up/test/v2/chat", request: func(string) string {
			return `{"model":"m",` + tools + `,"messages":[{"role":"user","content":"go"}]}`
		}},
		stream: streamed, typ: route.TypeEvents,
		text: func(text string) string {
			return cohere(fmt.Sprintf(`"content":[{"type":"text","text":%q}]`, text), "COMPLETE")
		},
		with: func(id, command string) string {
			return cohere(fmt.Sprintf(`"tool_plan":"Look.","tool_calls":[{"id":%q,"type":"function","function":{"name":"Bash","arguments":%s}}],"content":[{"type":"text","text":"Look."}]`,
				id, arguments(command)), "TOOL_CALL")
		},
	}, {
		toolFormat: toolFormat{name: "mistral", path: "/up/test/v1/conversations", request: func(string) string {
			return `{"model":"m","store":false,` + tools + `,"inputs":"go"}`
		}},
		stream: streamed, typ: route.TypeEvents,
		text: func(text string) string { return conversation(said("last", text)) },
		with: func(id, command string) string {
			return conversation(said(id, "Look.") + fmt.Sprintf(`,{"object":"entry","type":"function.call","id":"fc_%s","tool_call_id":%q,"name":"Bash","arguments":%s}`, id, id, arguments(command)))
		},
	}}
}

// framedTurnFormats are those whose streams are no server-sent events.
func framedTurnFormats() []turnFormat {
	ollamaAnswer := func(message string) string {
		return `{"model":"m","created_at":"2026-11-22T10:00:00Z","message":{"role":"assistant",` + message + `},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":7}`
	}
	ollamaCall := func(id, command string) string {
		return fmt.Sprintf(`{"id":%q,"function":{"name":"Bash","arguments":{"command":%q}}}`, id, command)
	}
	converseAnswer := func(blocks, reason string) string {
		return `{"output":{"message":{"role":"assistant","content":[` + blocks + `]}},"stopReason":"` + reason + `","usage":{"inputTokens":10,"outputTokens":7,"totalTokens":17},"metrics":{"latencyMs":5}}`
	}
	cohereAnswer := func(text, calls string) string {
		return fmt.Sprintf(`{"text":%q,"generation_id":"g"%s,"chat_history":[{"role":"USER","message":"go"},{"role":"CHATBOT","message":%q%s}],"finish_reason":"COMPLETE","meta":{"tokens":{"input_tokens":10,"output_tokens":7}}}`, text, calls, text, calls)
	}
	return []turnFormat{{
		toolFormat: toolFormat{name: "cohere_v1", path: "/up/test/v1/chat", request: func(string) string {
			return `{"model":"m","stream":false,"tools":[{"name":"Bash"}],"message":"go"}`
		}},
		stream: func(request string) string { return strings.Replace(request, `"stream":false`, `"stream":true`, 1) },
		typ:    "application/stream+json",
		text:   func(text string) string { return cohereAnswer(text, "") },
		with: func(_, command string) string {
			return cohereAnswer("Look.", fmt.Sprintf(`,"tool_calls":[{"name":"Bash","parameters":{"command":%q}}]`, command))
		},
	}, {
		toolFormat: toolFormat{name: "ollama", path: ollamaPath, request: func(string) string {
			return `{"model":"m","stream":false,"tools":[{"type":"function","function":{"name":"Bash"}}],"messages":[{"role":"user","content":"go"}]}`
		}},
		stream: func(request string) string { return strings.Replace(request, `"stream":false`, `"stream":true`, 1) },
		typ:    "application/x-ndjson",
		text:   func(text string) string { return ollamaAnswer(fmt.Sprintf(`"content":%q`, text)) },
		with: func(id, command string) string {
			return ollamaAnswer(`"content":"Look.","tool_calls":[` + ollamaCall(id, command) + `]`)
		},
	}, {
		toolFormat: toolFormat{name: "bedrock", path: "/up/test/model/m/converse", request: func(string) string {
			return `{"toolConfig":{"tools":[{"toolSpec":{"name":"Bash"}}]},"messages":[{"role":"user","content":[{"text":"go"}]}]}`
		}},
		paths: [2]string{"/converse", "/converse-stream"}, typ: "application/vnd.amazon.eventstream",
		text: func(text string) string { return converseAnswer(fmt.Sprintf(`{"text":%q}`, text), "end_turn") },
		with: func(id, command string) string {
			return converseAnswer(fmt.Sprintf(`{"text":"Look."},{"toolUse":{"toolUseId":%q,"name":"Bash","input":{"command":%q}}}`, id, command), "tool_use")
		},
	}}
}

// unkept is a request for a response that the provider does not keep.
func unkept(request string) string { return strings.Replace(request, "{", `{"store":false,`, 1) }

// inTurn answers each request with the next of the answers, and from then on
// with the last: as a stream where the request wants one.
func inTurn(t testing.TB, c route.Codec, typ string, seen *proxytest.Counter, answers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := seen.Saw(r)
		plain := answers[min(len(seen.All()), len(answers))-1]
		if !strings.Contains(body, `"stream":true`) && !strings.Contains(r.URL.Path, "stream") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, plain)
			return
		}
		events, err := c.Expand([]byte(plain))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", typ)
		_, _ = w.Write(events)
	})
}

// collected is a client's answer as a plain one.
func (f turnFormat) collected(t *testing.T, g *proxytest.Sidecar, resp *http.Response) string {
	t.Helper()
	body := proxytest.ReadAll(t, resp.Body)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the agent got %d: %s", resp.StatusCode, body)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), f.typ) {
		plain, err := f.codec(g).Collect([]byte(body))
		if err != nil {
			t.Fatalf("the stream is not well-formed: %v\n%s", err, body)
		}
		for _, once := range []string{`"message_start"`, `"message_stop"`, "[DONE]"} {
			if strings.Count(body, once) > 2 {
				t.Errorf("the stream has %s more than once: %s", once, body)
			}
		}
		body = string(plain)
	} else if typ := resp.Header.Get("Content-Type"); typ != "application/json" || resp.ContentLength != int64(len(body)) {
		t.Errorf("a document of type %q and length %d, want application/json and %d", typ, resp.ContentLength, len(body))
	}
	return body
}

func (f turnFormat) codec(g *proxytest.Sidecar) route.Codec {
	for _, c := range route.Codecs(8 << 20) {
		if c.Name() == f.name {
			return c
		}
	}
	return nil
}

// asksForTool reports whether an answer has a call.
func asksForTool(answer string) bool {
	return strings.Contains(answer, `"function_call"`) || strings.Contains(answer, `"toolUse"`) || strings.Contains(answer, `"tool_use"`) || strings.Contains(answer, `"tool_calls"`) || strings.Contains(answer, `"functionCall"`) || strings.Contains(answer, `"function.call"`)
}

// ordered fails the test where the words do not stand in a text in this order.
func ordered(t *testing.T, text string, words ...string) {
	t.Helper()
	rest := text
	for _, w := range words {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			t.Fatalf("%q is missing, or out of its place, in %s", w, text)
		}
		rest = after
	}
}

// A refusedTurn is a request in a format, to a model whose calls are refused.
type refusedTurn struct {
	f   turnFormat
	ask string
}

// gate is one before a model that gives these answers, in turn.
func (r refusedTurn) gate(t *testing.T, rounds int, answers ...string) (*proxytest.Sidecar, *proxytest.Counter) {
	var seen proxytest.Counter
	var g *proxytest.Sidecar
	g = proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		inTurn(t, r.f.codec(g), r.f.typ, &seen, answers...).ServeHTTP(w, req)
	}), withRounds(rounds))
	return g, &seen
}

func TestARefusedTurnGoesOn(t *testing.T) {
	t.Parallel()
	for _, f := range turnFormats() {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, streamed %t", f.name, streamed), func(t *testing.T) {
				t.Parallel()
				r := refusedTurn{f, f.request("")}
				if streamed {
					r.f.path, r.ask = f.streamed(r.ask)
				}
				t.Run("denied by policy, twice", r.deniedTwice)
				t.Run("denied by a person, then a call that is released", r.deniedThenReleased)
				t.Run("the limit", r.atTheLimit)
				t.Run("held in the second round", r.heldInTheSecondRound)
				t.Run("nothing was refused", r.nothingRefused)
				t.Run("the model's second answer fails", r.secondAnswerFails)
			})
		}
	}
}

func (r refusedTurn) deniedTwice(t *testing.T) {
	g, seen := r.gate(t, 3, r.f.with("a", "forbidden 1"), r.f.with("b", "forbidden 2"), r.f.text("Something else then."))
	got := r.f.collected(t, g, g.Post(t.Context(), r.f.path, r.ask))
	ordered(t, got, "Look.", proxytest.NoticeWord, "Look.", proxytest.NoticeWord, "Something else then.")
	if asksForTool(got) {
		t.Errorf("a refused call reached the agent: %s", got)
	}
	for _, n := range []string{`30`, `21`} { // tokens of three answers
		if !regexp.MustCompile(`(okens|Count|_count)":` + n + `\b`).MatchString(got) {
			t.Errorf("usage is not added up to %s: %s", n, got)
		}
	}
	bodies := seen.All()
	if len(bodies) != 3 {
		t.Fatalf("the model was asked %d times, want 3", len(bodies))
	}
	ordered(t, bodies[2], `"go"`, "forbidden 1", proxytest.NoticeWord, "forbidden 2", proxytest.NoticeWord)
	var notes []string
	for _, e := range g.Entries(audit.TypeDecision) {
		if e.Call.Kind == holdgate.KindModelRequest && e.Note != "" {
			notes = append(notes, e.Note)
		}
	}
	ordered(t, strings.Join(notes, "|"), "round 1 of 3", "round 2 of 3")
	if found := findings(g); len(found) > 0 {
		t.Errorf("what Holdgate says to the model is no finding: %q", found)
	}
	g.Verified()
}

func (r refusedTurn) deniedThenReleased(t *testing.T) {
	g, seen := r.gate(t, 3, r.f.with("a", "gated"), r.f.with("b", "ls"))
	answered := make(chan *http.Response, 1)
	go func() { answered <- g.Post(t.Context(), r.f.path, r.ask) }()
	g.Decide(g.Pending(1)[0], holdgate.AnswerSteer, "move it to archive/")
	got := r.f.collected(t, g, <-answered)
	ordered(t, got, "Look.", "archive/", "Look.")
	if !asksForTool(got) || !strings.Contains(got, "ls") || strings.Contains(got, "gated\"") || strings.Contains(got, `"end_turn"`) || strings.Contains(got, `"stop"`) && r.f.name != "ollama" {
		t.Errorf("the agent should get the second call alone: %s", got)
	}
	ordered(t, seen.All()[1], "gated", "archive/")
}

func (r refusedTurn) atTheLimit(t *testing.T) {
	g, seen := r.gate(t, 1, r.f.with("a", "forbidden 1"), r.f.with("b", "forbidden 2"), r.f.text("never"))
	got := r.f.collected(t, g, g.Post(t.Context(), r.f.path, r.ask))
	ordered(t, got, proxytest.NoticeWord, proxytest.NoticeWord)
	if n := len(seen.All()); n != 2 || asksForTool(got) {
		t.Errorf("the model was asked %d times, and the agent got %s", n, got)
	}
}

func (r refusedTurn) heldInTheSecondRound(t *testing.T) {
	g, seen := r.gate(t, 3, r.f.with("a", "forbidden"), r.f.with("b", "gated"))
	answered := make(chan *http.Response, 1)
	go func() { answered <- g.Post(t.Context(), r.f.path, r.ask) }()
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	got := r.f.collected(t, g, <-answered)
	ordered(t, got, proxytest.NoticeWord, "gated")
	if n := len(seen.All()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
	g.Verified()
}

func (r refusedTurn) nothingRefused(t *testing.T) {
	g, _ := r.gate(t, 3, r.f.with("a", "ls"))
	without := proxytest.New(t, inTurn(t, r.f.codec(g), r.f.typ, new(proxytest.Counter), r.f.with("a", "ls")))
	with := proxytest.ReadAll(t, g.Post(t.Context(), r.f.path, r.ask).Body)
	if want := proxytest.ReadAll(t, without.Post(t.Context(), r.f.path, r.ask).Body); with != want {
		t.Errorf("the bytes differ:\n%s\n%s", with, want)
	}
}

func (r refusedTurn) secondAnswerFails(t *testing.T) {
	var seen proxytest.Counter
	var g *proxytest.Sidecar
	g = proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if len(seen.All()) > 0 {
			seen.Saw(req)
			http.Error(w, `{"error":{"message":"busy"}}`, http.StatusTooManyRequests)
			return
		}
		inTurn(t, r.f.codec(g), r.f.typ, &seen, r.f.with("a", "forbidden")).ServeHTTP(w, req)
	}), withRounds(3))
	got := r.f.collected(t, g, g.Post(t.Context(), r.f.path, r.ask))
	ordered(t, got, "Look.", proxytest.NoticeWord)
	if len(seen.All()) != 2 || strings.Contains(got, "busy") {
		t.Errorf("the agent should get the reply: %s", got)
	}
}
