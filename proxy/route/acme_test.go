package route_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// acme is the format of docs/formats.md, which walks through this file.
type acme struct{}

func (acme) Name() string { return "acme" }

func (acme) Match(method, path string) bool { return wire.Posts(method, path, "/acme/talk") }

func (acme) Error(_ int, message string) []byte {
	return []byte(`{"sorry":` + wire.Quote(message) + `}`)
}

func (acme) Request(_ string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error) {
	m := &holdgate.Model{Provider: "acme"}
	for member, err := range body {
		if err != nil {
			return nil, err
		}
		switch string(member.Name) {
		case "talk":
		case "model":
			m.Name, err = wire.TextOrNull(member.Value)
		case "stream":
			m.Stream, err = wire.BoolOrNull(member.Value)
		case "tools":
			err = wire.EachElement(member.Value, func(tool []byte) error {
				name, err := wire.Text(tool)
				m.Tools = append(m.Tools, name)
				return err
			})
		default:
			err = wire.KnownName(member, "talk", "model", "stream", "tools")
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s of a request to Acme: %w", member.Name, err)
		}
	}
	return m, nil
}

// readSaying reads an answer, or an event of one, and returns its call if it has one.
func readSaying(object []byte) (call *holdgate.Call, err error) {
	known := false
	for m, err := range wire.Members(object) {
		if err != nil {
			return nil, err
		}
		switch string(m.Name) {
		case "say", "end":
			known = true
		case "do":
			known = true
			if wire.KindOf(m.Value) != "an object" {
				return nil, errors.New("a call is no object")
			}
			if err := wire.Known(m.Value, "tool", "with"); err != nil {
				return nil, err
			}
			name := wire.TextIn(m.Value, "tool")
			if name == "" {
				return nil, errors.New("a call has no tool")
			}
			call = wire.TextCall("", name, string(wire.Find(m.Value, "with")))
		default:
			if err := wire.NoCall(m, "say", "end", "do"); err != nil {
				return nil, err
			}
		}
	}
	if !known {
		return nil, errors.New("it is no answer of Acme's")
	}
	return call, nil
}

// rendered is an answer, or an event of one, under the verdict on its call.
func rendered(object []byte, v holdgate.Verdict) []byte {
	if word := wire.Word(v); word != "" {
		said := wire.TextIn(object, "say")
		if said != "" {
			said += wire.Apart
		}
		object = wire.SetMember(object, "say", wire.AppendText(nil, said+word))
	}
	switch {
	case !v.Release:
		return wire.WithoutMember(object, "do")
	case v.Arguments != nil:
		return wire.EditMember(object, "do", func(call []byte) []byte { return wire.SetMember(call, "with", v.Arguments) })
	}
	return object
}

type acmeAnswer struct {
	body []byte
	call *holdgate.Call
}

func (acme) Answer(body []byte) (wire.Answer, error) {
	call, err := readSaying(body)
	return acmeAnswer{body, call}, err
}

func (a acmeAnswer) Calls() []wire.Part {
	if a.call == nil {
		return nil
	}
	return []wire.Part{{Bytes: a.body, Call: a.call}}
}

func (a acmeAnswer) Render(verdicts []holdgate.Verdict) []byte {
	if a.call == nil {
		return a.body
	}
	return rendered(a.body, append(verdicts, holdgate.Verdict{})[0]) // none refuses
}

func (acmeAnswer) Usage() holdgate.Usage { return holdgate.Usage{Answers: 1} }

type acmeStream struct {
	events wire.EventScanner
	err    error
}

func (acme) Stream() wire.Stream { return &acmeStream{} }

func (s *acmeStream) Push(p []byte) ([]wire.Part, error) {
	s.events.Push(p)
	return wire.Drain(&s.events, &s.err, "a streamed answer of Acme", s.take)
}

func (s *acmeStream) End() ([]wire.Part, error) {
	s.events.End()
	return wire.Drain(&s.events, &s.err, "a streamed answer of Acme", s.take)
}

// take reads one event. A call comes whole in one, so that nothing has to wait.
func (s *acmeStream) take(parts []wire.Part, e wire.Event) ([]wire.Part, error) {
	part := wire.Part{Bytes: e.Raw, Tag: e}
	if !wire.IsNoOp(e) {
		err := wire.StrictEvent(e.Data)
		if err == nil {
			part.Call, err = readSaying(e.Data)
		}
		if err != nil {
			return parts, err
		}
	}
	return append(parts, part), nil
}

func (s *acmeStream) Render(p wire.Part, v holdgate.Verdict) []byte {
	if p.Call == nil || v.Release && v.Note == "" && v.Arguments == nil {
		return p.Bytes
	}
	e := p.Tag.(wire.Event)
	return wire.AppendEvent(nil, e.Type, rendered(e.Data, v))
}

func (*acmeStream) Usage() holdgate.Usage { return holdgate.Usage{Answers: 1} }

func (*acmeStream) UsedAll() bool { return false }

func (s *acmeStream) Idle() []byte { return wire.AppendEvent(nil, "", []byte(`{"say":""}`)) }

func (s *acmeStream) Fail(message string) []byte {
	return wire.AppendEvent(nil, "", acme{}.Error(500, message))
}

func (acme) Collect(stream []byte) ([]byte, error) {
	s := &acmeStream{}
	parts, err := s.Push(stream)
	if err != nil {
		return nil, err
	}
	rest, err := s.End()
	if err != nil {
		return nil, err
	}
	var all wire.Object
	said := ""
	for _, p := range slices.Concat(parts, rest) {
		data := p.Tag.(wire.Event).Data
		said += wire.TextIn(data, "say")
		if p.Call != nil {
			all.Set("do", wire.Find(data, "do"))
		}
	}
	all.Set("say", wire.AppendText(nil, said))
	return all.JSON(), nil
}

func (c acme) Expand(plain []byte) ([]byte, error) {
	if _, err := c.Answer(plain); err != nil {
		return nil, err
	}
	return append(wire.AppendEvent(nil, "", plain), wire.AppendEvent(nil, "", []byte(`{"end":true}`))...), nil
}

func (acme) Example() wire.Example {
	const call = `"do":{"tool":"Read","with":` + wire.ExampleArguments + `}`
	e := wire.Example{
		Path: "/acme/talk", StreamPath: "/acme/talk", StreamType: "text/event-stream",
		Head: `{"model":"bench","stream":%t,"tools":["Read"],"talk":[`, Turn: `{"by":"%s","say":"%s"}`, Tail: "]}",
		Roles: [2]string{"user", "model"},
		Plain: `{"say":"` + wire.ExampleText() + `",` + call + `}`,
	}
	for range wire.ExampleEvents {
		e.Event("", `{"say":"`+wire.ExampleWords+`"}`)
	}
	e.Event("", `{`+call+`}`)
	e.Event("", `{"end":true}`)
	return e
}

// The worked example keeps the promises too.
func TestTheWorkedExample(t *testing.T) {
	t.Parallel()
	keepsItsPromises(t, acme{})
}
