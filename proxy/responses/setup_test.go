package responses_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/responses"
	"github.com/holdgate/holdgate/proxy/wire"
)

// quoted returns a JSON string.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails
	}
	return string(b)
}

// A script is a stream that is being written as the provider writes it.
type script struct {
	strings.Builder
	next int
}

// ev adds an event; members follow its type and its number.
func (s *script) ev(typ, members string) *script {
	if members != "" {
		members = "," + members
	}
	fmt.Fprintf(s, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d%s}\n\n", typ, typ, s.next, members)
	s.next++
	return s
}

// begin adds what every stream begins with.
func begin() *script {
	s := &script{}
	head := `"response":{"id":"resp_1","object":"response","status":"in_progress","model":"m","output":[]}`
	return s.ev("response.created", head).ev("response.in_progress", head)
}

// said adds a message with a text.
func (s *script) said(index int, text string) *script {
	at := fmt.Sprintf(`"output_index":%d`, index)
	part := fmt.Sprintf(`"item_id":"msg_%d",%s,"content_index":0`, index, at)
	s.ev("response.output_item.added", at+fmt.Sprintf(`,"item":{"id":"msg_%d","type":"message","status":"in_progress","role":"assistant","content":[]}`, index))
	s.ev("response.content_part.added", part+`,"part":{"type":"output_text","text":"","annotations":[]}`)
	s.ev("response.output_text.delta", part+`,"delta":`+quoted(text))
	s.ev("response.output_text.done", part+`,"text":`+quoted(text))
	s.ev("response.content_part.done", part+`,"part":{"type":"output_text","text":`+quoted(text)+`,"annotations":[]}`)
	return s.ev("response.output_item.done", at+`,"item":`+message(index, text))
}

func message(index int, text string) string {
	return fmt.Sprintf(`{"id":"msg_%d","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":%s,"annotations":[]}]}`, index, quoted(text))
}

func added(index int, item string) string {
	return fmt.Sprintf(`"output_index":%d,"item":%s`, index, item)
}

// function is a function_call's item.
func function(index int, name, arguments, status string) string {
	return fmt.Sprintf(`{"id":"fc_%d","type":"function_call","status":%q,"arguments":%s,"call_id":"call_%d","name":%q}`, index, status, quoted(arguments), index, name)
}

// asks adds a function_call, its arguments in two deltas.
func (s *script) asks(index int, name, arguments string) *script {
	return s.opens(index, name).argues(index, arguments).closes(index, name, arguments)
}

func (s *script) opens(index int, name string) *script {
	return s.ev("response.output_item.added", added(index, function(index, name, "", "in_progress")))
}

func (s *script) argues(index int, arguments string) *script {
	at := fmt.Sprintf(`"item_id":"fc_%d","output_index":%d`, index, index)
	for _, half := range []string{arguments[:len(arguments)/2], arguments[len(arguments)/2:]} {
		s.ev("response.function_call_arguments.delta", at+`,"delta":`+quoted(half)+`,"obfuscation":"xyz"`)
	}
	return s.ev("response.function_call_arguments.done", at+`,"arguments":`+quoted(arguments))
}

func (s *script) closes(index int, name, arguments string) *script {
	return s.ev("response.output_item.done", added(index, function(index, name, arguments, "completed")))
}

func response(status string, items ...string) string {
	return `{"id":"resp_1","object":"response","status":"` + status + `","model":"m","output":[` + strings.Join(items, ",") + `],"usage":{"output_tokens":9}}`
}

func (s *script) ends(items ...string) *script {
	return s.ev("response.completed", `"response":`+response("completed", items...))
}

var (
	release = holdgate.Verdict{Release: true}
	refuse  = holdgate.Verdict{Notice: "[holdgate] it was not run"}
)

// parts reads a stream that comes in pieces.
func parts(s wire.Stream, pieces ...string) (all []wire.Part, err error) {
	for _, p := range pieces {
		ps, err := s.Push([]byte(p))
		all = append(all, ps...)
		if err != nil {
			return all, err
		}
	}
	ps, err := s.End()
	return append(all, ps...), err
}

func mustParts(t testing.TB, s wire.Stream, pieces ...string) []wire.Part {
	t.Helper()
	ps, err := parts(s, pieces...)
	if err != nil {
		t.Fatal(err)
	}
	return ps
}

// render writes parts under these verdicts, the last of which counts for all
// calls that follow.
func render(s wire.Stream, ps []wire.Part, verdicts ...holdgate.Verdict) string {
	var b strings.Builder
	for _, p := range ps {
		v := verdicts[0]
		if p.Call != nil && !p.Observed && len(verdicts) > 1 {
			verdicts = verdicts[1:]
		}
		b.Write(s.Render(p, v))
	}
	return b.String()
}

func joined(ps []wire.Part) string {
	var b strings.Builder
	for _, p := range ps {
		b.Write(p.Bytes)
	}
	return b.String()
}

// calls lists the calls of parts as policy sees them.
func calls(ps []wire.Part) (lines []string) {
	for _, p := range ps {
		if c := p.Call; c != nil {
			line := fmt.Sprintf("%s %s %s", c.ID, c.Tool.Name, c.Tool.Arguments)
			if c.Tool.Server != "" {
				line = fmt.Sprintf("%s %s/%s %s", c.ID, c.Tool.Server, c.Tool.Name, c.Tool.Arguments)
			}
			if c.Tool.Arguments == nil {
				line += fmt.Sprintf("%q", c.Tool.ArgumentsRaw)
			}
			if p.Observed {
				line += " observed"
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func codec() *responses.Codec { return &responses.Codec{} }
