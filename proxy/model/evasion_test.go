package model_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A dialect is how a format writes what the evasions below change. A change is a
// pair of what stands in the answer and what stands there instead; where it is
// empty the format has no such thing.
type dialect struct {
	name, path, ask   string // ask is for a stream
	typ               string
	frame             func(events []string) string
	events            []string // of an answer with one call, all of whose arguments are the marker
	dup, key          [2]string
	call, unknown     [2]string // the call's name, its type
	plainPath, plain  string    // the request for, and an answer that is, one document
	second            []string  // the same as events, where the call is the second of something
	after, interlaced []string
	split             []string // the name, in pieces
	ping              string
}

// marker is in the arguments of each call, in one piece of them, and must not
// reach the agent.
const marker = "q9"

// typed frames server-sent events, with an event field where the data have a type.
func typed(events []string) string {
	var b []byte
	for _, e := range events {
		typ, _ := wire.Text(wire.Find([]byte(e), "type"))
		b = wire.AppendEvent(b, typ, []byte(e))
	}
	return string(b)
}

func dialects() []dialect {
	return append(eventDialects(), otherDialects()...)
}

func eventDialects() []dialect {
	block := func(index, rest string) string {
		return `{"type":"content_block_start","index":` + index + `,"content_block":{"type":"tool_use","id":"t` + index + `","name":"Bash","input":{}}}` + rest
	}
	fragment := func(index, json string) string {
		return `{"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":"` + json + `"}}`
	}
	stop := func(index string) string { return `{"type":"content_block_stop","index":` + index + `}` }
	const begin, ended, last = `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":2}}`, `{"type":"message_stop"}`
	const first, rest = `{\"command\":\"z`, `q9\"}`
	chunk := func(choice, index, members string) string {
		return `{"id":"x","object":"chat.completion.chunk","choices":[{"index":` + choice + `,"delta":{"tool_calls":[{"index":` + index + `,` + members + `}]}}]}`
	}
	named := func(id, name, args string) string {
		return `"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"` + args + `"}`
	}
	more := func(args string) string { return `"function":{"arguments":"` + args + `"}` }
	const finish = `{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	item := func(index, args string) string {
		return `{"id":"fc_` + index + `","type":"function_call","status":"completed","arguments":"` + args + `","call_id":"c` + index + `","name":"Bash"}`
	}
	added := func(index string) string {
		return `{"type":"response.output_item.added","output_index":` + index + `,"item":` + item(index, "") + `}`
	}
	delta := func(index, args string) string {
		return `{"type":"response.function_call_arguments.delta","item_id":"fc_` + index + `","output_index":` + index + `,"delta":"` + args + `"}`
	}
	done := func(index string) string {
		return `{"type":"response.output_item.done","output_index":` + index + `,"item":` + item(index, first+rest) + `}`
	}
	const created = `{"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}}`
	completed := func(items ...string) string {
		return `{"type":"response.completed","response":{"id":"resp_1","object":"response","status":"completed","output":[` + strings.Join(items, ",") + `]}}`
	}
	candidate := func(index, part string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + part + `]},"index":` + index + `}]}`
	}
	const function, over = `{"functionCall":{"name":"Bash","args":{"command":"zq9"}}}`, `{"candidates":[{"content":{"role":"model","parts":[{"text":"."}]},"finishReason":"STOP","index":0}]}`
	return []dialect{{
		name: "anthropic", path: proxytest.Messages, ask: proxytest.AskStream, typ: route.TypeEvents, frame: typed,
		events: []string{begin, block("0", ""), fragment("0", first), fragment("0", rest), stop("0"), ended, last},
		dup:    [2]string{`{"type":"tool_use"`, `{"type":"text","type":"tool_use"`}, key: [2]string{`"content_block":`, `"content\u005fblock":`},
		call: [2]string{`"Bash"`, `"\u0042ash"`}, unknown: [2]string{`"tool_use","id"`, `"tool_use_20990101","id"`},
		plainPath: proxytest.Messages, plain: `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"zq9"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`,
		second:     []string{begin, block("0", ""), stop("0"), block("1", ""), fragment("1", first), fragment("1", rest), stop("1"), ended, last},
		after:      []string{begin, ended, last, block("0", ""), fragment("0", first), fragment("0", rest), stop("0")},
		interlaced: []string{begin, block("0", ""), block("1", ""), fragment("0", first), fragment("1", first), fragment("0", rest), fragment("1", rest), stop("1"), stop("0"), ended, last},
		ping:       `{"type":"ping"}`,
	}, {
		name: "openai", path: "/up/test/v1/chat/completions", ask: proxytest.AskStream, typ: route.TypeEvents, frame: typed,
		events: []string{chunk("0", "0", named("c", "Bash", first)), chunk("0", "0", more(rest)), finish, "[DONE]"},
		dup:    [2]string{`"name":"Bash"`, `"name":"Read","name":"Bash"`}, key: [2]string{`"tool_calls"`, `"tool_\u0063alls"`},
		call: [2]string{`"Bash"`, `"\u0042ash"`}, unknown: [2]string{`"type":"function"`, `"type":"computer"`},
		plainPath: "/up/test/v1/chat/completions", plain: `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{` + named("c", "Bash", first+rest) + `}]},"finish_reason":"tool_calls"}]}`,
		second:     []string{`{"id":"x","choices":[{"index":0,"delta":{"content":"a"}}]}`, chunk("1", "0", named("c", "Bash", first)), chunk("1", "0", more(rest)), finish, "[DONE]"},
		after:      []string{finish, "[DONE]", chunk("0", "0", named("c", "Bash", first+rest)), finish},
		interlaced: []string{chunk("0", "0", named("c", "Bash", first)), chunk("0", "1", named("d", "Bash", first)), chunk("0", "0", more(rest)), chunk("0", "1", more(rest)), finish, "[DONE]"},
		split:      []string{chunk("0", "0", named("c", "Ba", "")), chunk("0", "0", `"function":{"name":"sh"}`), chunk("0", "0", more(first+rest)), finish, "[DONE]"},
		ping:       `{"id":"x","choices":[]}`,
	}, {
		name: "responses", path: responsesPath, ask: streamed, typ: route.TypeEvents, frame: typed,
		events: []string{created, added("0"), delta("0", first), delta("0", rest), done("0"), completed(item("0", first+rest))},
		dup:    [2]string{`"type":"function_call"`, `"type":"message","type":"function_call"`}, key: [2]string{`"item":`, `"it\u0065m":`},
		call: [2]string{`"Bash"`, `"\u0042ash"`}, unknown: [2]string{`"function_call"`, `"robot_call"`},
		plainPath: responsesPath, plain: `{"id":"resp_1","object":"response","status":"completed","output":[` + item("0", first+rest) + `]}`,
		second:     []string{created, added("0"), done("0"), added("1"), delta("1", first), delta("1", rest), done("1"), completed(item("0", first+rest), item("1", first+rest))},
		after:      []string{created, completed(), added("0"), delta("0", first), delta("0", rest), done("0")},
		interlaced: []string{created, added("0"), added("1"), delta("0", first), delta("1", first), delta("0", rest), delta("1", rest), done("1"), done("0"), completed(item("0", first+rest), item("1", first+rest))},
		ping:       `{"type":"keepalive"}`,
	}, {
		name: "gemini", path: "/up/test/v1beta/models/m:streamGenerateContent?alt=sse", ask: `{"contents":[]}`, typ: route.TypeEvents, frame: typed,
		events: []string{candidate("0", function), over},
		dup:    [2]string{`"name":"Bash"`, `"name":"Read","name":"Bash"`}, key: [2]string{`"functionCall"`, `"function\u0043all"`},
		call: [2]string{`"Bash"`, `"\u0042ash"`}, unknown: [2]string{`"functionCall"`, `"robotCall"`},
		plainPath: "/up/test/v1beta/models/m:generateContent", plain: candidate("0", function),
		second:     []string{candidate("0", `{"text":"a"}`), candidate("1", function), over},
		after:      []string{over, candidate("0", function)},
		interlaced: []string{candidate("0", `{"functionCall":{"name":"Bash","id":"1","willContinue":true}}`), candidate("1", function), candidate("0", `{"functionCall":{"partialArgs":[{"jsonPath":"$.command","stringValue":"zq9"}],"willContinue":true}}`), candidate("0", `{"functionCall":{}}`), over},
		ping:       `{"usageMetadata":{"totalTokenCount":1}}`,
	}}
}

func otherDialects() []dialect {
	lines := func(events []string) string { return strings.Join(events, "\n") + "\n" }
	line := func(call string) string {
		return `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[` + call + `]},"done":false}`
	}
	const tool = `{"function":{"name":"Bash","arguments":{"command":"zq9"}}}`
	// An event of Bedrock is its type, a blank, and its payload.
	messageFrames := func(events []string) string {
		var b []byte
		for _, e := range events {
			typ, payload, _ := strings.Cut(e, " ")
			b = wire.AppendMessage(b, "event", typ, []byte(payload))
		}
		return string(b)
	}
	chunkFrames := func(events []string) string {
		var b []byte
		for _, e := range events {
			b = wire.AppendMessage(b, "event", "chunk", []byte(`{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(e))+`"}`))
		}
		return string(b)
	}
	start := func(index string) string {
		return `contentBlockStart {"contentBlockIndex":` + index + `,"start":{"toolUse":{"toolUseId":"t` + index + `","name":"Bash"}}}`
	}
	fragment := func(index, json string) string {
		return `contentBlockDelta {"contentBlockIndex":` + index + `,"delta":{"toolUse":{"input":"` + json + `"}}}`
	}
	stop := func(index string) string { return `contentBlockStop {"contentBlockIndex":` + index + `}` }
	const begin, over = `messageStart {"role":"assistant"}`, `messageStop {"stopReason":"tool_use"}`
	const first, rest = `{\"command\":\"z`, `q9\"}`
	invoked := eventDialects()[0]
	invoked.name, invoked.path, invoked.ask = "bedrock_invoke", invokeClaude, claudeBody
	invoked.typ, invoked.frame, invoked.plainPath = "application/vnd.amazon.eventstream", chunkFrames, "/up/test/model/anthropic.claude-v9:0/invoke"
	return []dialect{invoked, {
		name: "ollama", path: ollamaPath, ask: proxytest.AskStream, typ: "application/x-ndjson", frame: lines,
		events: []string{line(tool), ollamaLast},
		dup:    [2]string{`"name":"Bash"`, `"name":"Read","name":"Bash"`}, key: [2]string{`"tool_calls"`, `"tool_\u0063alls"`},
		call: [2]string{`"Bash"`, `"\u0042ash"`}, unknown: [2]string{`"function":`, `"robot_call":`},
		plainPath: ollamaPath, plain: strings.Replace(line(tool), "false", "true", 1),
		second:     []string{line(tool + "," + tool), ollamaLast},
		after:      []string{ollamaLast, line(tool)},
		interlaced: []string{line(`{"function":{"index":1,"name":"Bash","arguments":{"command":"zq9"}}}`), line(`{"function":{"index":0,"name":"Bash","arguments":{"command":"zq9"}}}`), ollamaLast},
		ping:       ollamaText,
	}, {
		name: "bedrock", path: converseStream, ask: converseBody, typ: "application/vnd.amazon.eventstream", frame: messageFrames,
		events: []string{begin, start("0"), fragment("0", first), fragment("0", rest), stop("0"), over},
		dup:    [2]string{`"start":{`, `"start":{},"start":{`}, key: [2]string{`"toolUse"`, `"tool\u0055se"`},
		call: [2]string{`"Bash"`, `"\u0042ash"`}, unknown: [2]string{`"toolUse"`, `"robotToolUse"`},
		plainPath: "/up/test/model/m/converse", plain: `{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"t","name":"Bash","input":{"command":"zq9"}}}]}},"stopReason":"tool_use"}`,
		second:     []string{begin, start("0"), stop("0"), start("1"), fragment("1", first), fragment("1", rest), stop("1"), over},
		after:      []string{begin, over, start("0"), fragment("0", first), fragment("0", rest), stop("0")},
		interlaced: []string{begin, start("0"), start("1"), fragment("0", first), fragment("1", first), fragment("0", rest), fragment("1", rest), stop("1"), stop("0"), over},
		ping:       `ping {}`,
	}}
}

// otherwise are the events with one thing in each written otherwise.
func (d dialect) otherwise(t *testing.T, change [2]string) string {
	var out []string
	for _, e := range d.events {
		out = append(out, strings.ReplaceAll(e, change[0], change[1]))
	}
	if slices.Equal(out, d.events) {
		t.Errorf("%q is nowhere in %q", change[0], d.events)
	}
	return d.frame(out)
}

// between puts something between all events.
func between(events []string, what string) (out []string) {
	for i, e := range events {
		if i > 0 && e != "[DONE]" {
			out = append(out, what)
		}
		out = append(out, e)
	}
	return out
}

// inPieces sends a body in pieces that are cut anywhere.
func inPieces(w http.ResponseWriter, body string) {
	rc := http.NewResponseController(w)
	for len(body) > 0 {
		n := min(7, len(body))
		_, _ = io.WriteString(w, body[:n]) // who has gone has seen enough
		_ = rc.Flush()
		body = body[n:]
	}
}

// denyCalls refuses every call, whatever it is named.
const denyCalls = "package holdgate\n\nimport rego.v1\n\ndefault decision := {\"action\": \"allow\", \"rule\": \"test.allow\"}\n\n" +
	"decision := {\"action\": \"deny\", \"rule\": \"test.deny\", \"reason\": \"no calls\"} if input.kind == \"tool_call\"\n"

// In each format, each way of hiding a call from who looks for it ends with the
// call seen and refused, or with the whole answer refused.
func TestNoEvasionBringsACallToTheAgent(t *testing.T) {
	t.Parallel()
	type reply struct {
		name, typ, body string
		plain           bool
		trailer         string
	}
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			usual := d.frame(d.events)
			replies := []reply{
				{name: "as it usually is", body: usual},
				{name: "a duplicate key", body: d.otherwise(t, d.dup)},
				{name: "an escape in a key", body: d.otherwise(t, d.key)},
				{name: "an escape in a name", body: d.otherwise(t, d.call)},
				{name: "an unknown type", body: d.otherwise(t, d.unknown)},
				{name: "in the second of two", body: d.frame(d.second)},
				{name: "after the end", body: d.frame(d.after)},
				{name: "interleaved", body: d.frame(d.interlaced)},
				{name: "something between all events", body: d.frame(between(d.events, d.ping))},
				{name: "as a document", typ: "application/json", body: usual},
				{name: "as text", typ: "text/plain", body: usual},
				{name: "of no type", typ: "-", body: usual},
				{name: "of two types", typ: "text/plain, " + d.typ, body: usual},
				{name: "in another charset", typ: d.typ + "; charset=utf-16", body: usual},
				{name: "called events", typ: route.TypeEvents, body: usual},
				{name: "in a trailer", body: d.frame(d.after[:2]), trailer: "zq9"},
				{name: "twice", body: usual + usual},
				{name: "a document, as it usually is", typ: "application/json", body: d.plain, plain: true},
				{name: "a document called events", typ: route.TypeEvents, body: d.plain, plain: true},
				{name: "two documents", typ: "application/json", body: d.plain + d.plain, plain: true},
				{name: "a document behind another", typ: "application/json", body: "{}\n" + d.plain, plain: true},
				{name: "a document with a duplicate key", typ: "application/json", body: strings.ReplaceAll(d.plain, `"name":"Bash"`, `"name":"Read","name":"Bash"`), plain: true},
				{name: "a document with a key in another case", typ: "application/json", body: strings.ReplaceAll(d.plain, `"name":"Bash"`, `"name":"Read","Name":"Bash"`), plain: true},
				{name: "a document as text", typ: "text/html", body: d.plain, plain: true},
			}
			if body := strings.Replace(d.plain, d.unknown[0], d.unknown[1], 1); body != d.plain {
				replies = append(replies, reply{name: "a document with an unknown type", typ: "application/json", body: body, plain: true})
			}
			if d.split != nil {
				replies = append(replies, reply{name: "a name in pieces", body: d.frame(d.split)})
			}
			current := make(chan reply, 1)
			g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				re := <-current
				if re.trailer != "" {
					w.Header().Set("Trailer", "X-Call")
				}
				switch re.typ {
				case "":
					w.Header().Set("Content-Type", d.typ)
				case "-":
					w.Header()["Content-Type"] = nil
				default:
					w.Header().Set("Content-Type", re.typ)
				}
				inPieces(w, re.body)
				w.Header().Set("X-Call", re.trailer)
			}), proxytest.WithPolicy(t, denyCalls))
			for _, re := range replies {
				current <- re
				path, ask := d.path, d.ask
				if re.plain {
					path, ask = d.plainPath, strings.Replace(strings.Replace(d.ask, `"stream":true`, `"stream":false`, 1), "alt=sse", "", 1)
				}
				resp := g.Post(t.Context(), path, ask)
				body, err := io.ReadAll(resp.Body) // an answer that is cut off is one that was refused
				if strings.Contains(plainly64(body), marker) || strings.Contains(resp.Trailer.Get("X-Call"), marker) {
					t.Errorf("%s: the call reached the agent: status %d, %v: %q", re.name, resp.StatusCode, err, body)
				}
				if strings.HasSuffix(re.name, "as it usually is") && (resp.StatusCode != http.StatusOK || err != nil || !strings.Contains(plainly64(body), proxytest.NoticeWord)) {
					t.Errorf("%s: it should be refused in its place: status %d, %v: %q", re.name, resp.StatusCode, err, body)
				}
			}
		})
	}
}

// plainly64 is an answer with what it has in base64 as text beside it.
func plainly64(body []byte) string {
	out := string(body)
	for _, part := range strings.Split(out, `"bytes":"`)[1:] {
		encoded, _, _ := strings.Cut(part, `"`)
		text, _ := base64.StdEncoding.DecodeString(encoded)
		out += string(text)
	}
	return out
}

// A large request is read by what its messages have in common. A result of a
// refused call that differs in nothing but its type, however that is spelled, from
// hundreds of others before it is seen all the same.
func TestNoResultHidesAmongOthersThatAreAlike(t *testing.T) {
	t.Parallel()
	types := map[string][3]string{ // what says that it is a result, the same spelled otherwise, and what is none
		"anthropic": {`"tool_result"`, `"t\u006fol_result"`, `"text"`},
		"openai":    {`"tool"`, `"t\u006fol"`, `"user"`},
		"responses": {`"function_call_output"`, `"functi\u006fn_call_output"`, `"message"`},
		"gemini":    {`"functionResponse"`, `"functi\u006fnResponse"`, `"inlineData"`},
	}
	for _, f := range toolFormats() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			var upstream atomic.Value
			g := proxytest.New(t, saying(&upstream))
			typ := types[f.name]
			others := f.turn(f.call("b", "forbidden")) + strings.Repeat(strings.Replace(f.result("b"), typ[0], typ[2], 1), 300)
			for n, result := range []string{f.result("b"), strings.Replace(f.result("b"), typ[0], typ[1], 1)} {
				session := strconv.Itoa(n)
				say(g, f, &upstream, session, f.answer(f.call("b", "forbidden")), "")
				say(g, f, &upstream, session, f.answer(f.call("a", "ls")), others)
				if got := findings(g); len(got) != n {
					t.Fatalf("what is no result is a finding: %q", got)
				}
				say(g, f, &upstream, session, f.answer(f.call("a", "ls")), others+result)
				if got := findings(g); len(got) != n+1 || got[n] != "was refused" {
					t.Errorf("%s: the log has found %q", result, got)
				}
			}
		})
	}
}
