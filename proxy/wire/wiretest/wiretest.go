// Package wiretest takes answers through codecs for their tests: cut into pieces
// of any size, and under verdicts of the test's own.
package wiretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Release is the verdict on a call that goes on as it came.
func Release() holdgate.Verdict { return holdgate.Verdict{Release: true} }

// Refuse is the verdict on a call that a notice stands for.
func Refuse(notice string) holdgate.Verdict { return holdgate.Verdict{Notice: notice} }

// Edit is the verdict on a call that goes on with other arguments.
func Edit(arguments string) holdgate.Verdict {
	return holdgate.Verdict{Release: true, Arguments: json.RawMessage(arguments)}
}

// Note is the verdict on a call that goes on with a note before it.
func Note(text string) holdgate.Verdict { return holdgate.Verdict{Release: true, Note: text} }

// Run takes a stream in pieces of this size through a codec, as [Read] does.
func Run(s wire.Stream, in string, size int, verdicts []holdgate.Verdict) (calls []*holdgate.Call, out string, err error) {
	return read(s, &pieces{in, size}, make([]byte, min(size, len(in))+1), verdicts)
}

// Read takes a stream through a codec as it is read. It returns the calls found
// and what is sent. The verdicts are those on the calls that the agent runs, in
// order; what they are too few for is released.
func Read(s wire.Stream, src io.Reader, verdicts []holdgate.Verdict) (calls []*holdgate.Call, out string, err error) {
	return read(s, src, make([]byte, 4<<10), verdicts)
}

func read(s wire.Stream, src io.Reader, buf []byte, verdicts []holdgate.Verdict) (calls []*holdgate.Call, out string, err error) {
	asked := 0
	take := func(parts []wire.Part) {
		for _, p := range parts {
			v := Release()
			if p.Call != nil {
				calls = append(calls, p.Call)
				if !p.Observed && asked < len(verdicts) {
					v = verdicts[asked]
					asked++
				}
			}
			out += string(s.Render(p, v))
		}
	}
	for {
		n, rerr := src.Read(buf)
		if n > 0 {
			parts, err := s.Push(buf[:n])
			if take(parts); err != nil {
				return calls, out, err
			}
		}
		switch {
		case errors.Is(rerr, io.EOF):
			parts, err := s.End()
			take(parts)
			return calls, out, err
		case rerr != nil:
			return calls, out, rerr
		}
	}
}

// pieces read a text size bytes at a time.
type pieces struct {
	rest string
	size int
}

// Read implements [io.Reader].
func (p *pieces) Read(b []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// Property checks what every stream promises, however it is cut into pieces: what is
// released keeps its bytes, and what comes out under any verdicts has, read again, exactly
// the calls that were released.
func Property(t *testing.T, begin func() wire.Stream, in string, size int) {
	t.Helper()
	whole, _, wholeErr := Run(begin(), in, len(in)+1, nil)
	calls, out, err := Run(begin(), in, size, nil)
	if (err == nil) != (wholeErr == nil) {
		t.Fatalf("the cut makes a difference: %v, %v", err, wholeErr)
	}
	if err != nil {
		return
	}
	if out != in {
		t.Errorf("what was released was changed: %q", out)
	}
	if got, want := named(calls), named(whole); got != want {
		t.Errorf("the cut makes a difference: %s, %s", got, want)
	}
	for _, refuse := range []func(n int) bool{func(int) bool { return true }, func(n int) bool { return n%2 == 1 }} {
		s, sent := begin(), ""
		var released []*holdgate.Call
		parts, err := s.Push([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		rest, err := s.End()
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, p := range append(parts, rest...) {
			v := Release()
			if p.Call != nil && !p.Observed {
				asked++
				if refuse(asked) {
					v = Refuse("no")
				}
			}
			if p.Call != nil && v.Release {
				released = append(released, p.Call)
			}
			sent += string(s.Render(p, v))
		}
		left, _, err := Run(begin(), sent, len(sent)+1, nil)
		if err != nil {
			t.Fatalf("what was sent cannot be read: %v\n%q", err, sent)
		}
		if got, want := named(left), named(released); got != want {
			t.Errorf("left are %s, released were %s\n%q", got, want, sent)
		}
	}
}

// named lists calls.
func named(calls []*holdgate.Call) (list string) {
	for _, c := range calls {
		list += fmt.Sprintf("%q %q %s%q; ", c.ID, c.Tool.Name, c.Tool.Arguments, c.Tool.ArgumentsRaw)
	}
	return list
}

// A Plain is a codec's half for whole answers.
type Plain interface {
	Answer(body []byte) (wire.Answer, error)
	Stream() wire.Stream
	Expand(plain []byte) ([]byte, error)
	Collect(stream []byte) ([]byte, error)
}

// AnswerProperty checks what every codec promises of whole answers: what is released
// keeps its bytes; none that is refused is left; and the stream that says the same, and
// the answer that says the same as that, have the same calls.
func AnswerProperty(t *testing.T, c Plain, body []byte) {
	t.Helper()
	if wire.Strict(body) != nil {
		return
	}
	a, err := c.Answer(body)
	if err != nil {
		return
	}
	var calls, ran []*holdgate.Call
	var released []holdgate.Verdict
	for _, p := range a.Calls() {
		calls, released = append(calls, p.Call), append(released, Release())
		if p.Observed {
			ran = append(ran, p.Call)
		}
	}
	if got := a.Render(released); string(got) != string(body) {
		t.Errorf("what was released was changed: %s", got)
	}
	expanded, err := c.Expand(body)
	if err == nil {
		found, _, err := Run(c.Stream(), string(expanded), len(expanded)+1, nil)
		if err != nil || named(found) != named(calls) {
			t.Errorf("expanded are %s, not %s, error %v\n%s", named(found), named(calls), err, expanded)
		}
	}
	sent := a.Render(nil)
	if err := wire.Strict(sent); err != nil {
		t.Fatalf("%v in %s", err, sent)
	}
	left, err := c.Answer(sent)
	if err != nil {
		t.Fatalf("what was sent cannot be read: %v\n%s", err, sent)
	}
	var found []*holdgate.Call
	for _, p := range left.Calls() {
		found = append(found, p.Call)
	}
	if named(found) != named(ran) {
		t.Errorf("left are %s in %s", named(found), sent)
	}
}
