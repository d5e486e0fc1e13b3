package interactions

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Collect turns a whole stream into the plain answer that says the same: texts and
// arguments are joined as they are written.
func (c *Codec) Collect(raw []byte) ([]byte, error) {
	s := c.stream()
	parts, err := s.Push(raw)
	if err != nil {
		return nil, err
	}
	rest, err := s.End()
	if err != nil {
		return nil, err
	}
	a := assembly{}
	for _, p := range slices.Concat(parts, rest) {
		switch t := p.Tag.(type) {
		case callTag:
			a.steps = append(a.steps, &assembled{index: t.step.index, whole: t.step.whole()})
		case event:
			if err := a.add(t); err != nil {
				return nil, fmt.Errorf("collecting a streamed interaction: %w", err)
			}
		}
	}
	return a.json()
}

// An assembly is a plain answer that grows.
type assembly struct {
	top   wire.Object
	steps []*assembled
	ended bool
}

// An assembled step grows from event to event.
type assembled struct {
	index   int
	whole   []byte // of a call
	typ     string
	members wire.Object
	list    string   // the member whose list grows
	content [][]byte // that list
	text    []byte   // the inside of its last element, where that is a text that grows
	grows   bool
}

func (a *assembly) add(e event) error {
	switch e.typ {
	case failed:
		return errors.New("the stream ends in an error")
	case created, completed:
		a.ended = a.ended || e.typ == completed
		for m, err := range wire.Members(e.interaction) {
			if err == nil && !(string(m.Name) == "steps" && wire.IsEmpty(m.Value)) {
				a.top.Set(string(m.Name), m.Value)
			}
		}
	case stepStart:
		members, err := wire.ObjectOf(e.step)
		if err != nil {
			return err
		}
		began := &assembled{index: e.index, typ: wire.TextIn(e.step, "type"), members: members}
		switch began.typ {
		case modelOutput:
			began.list = "content"
		case "thought":
			began.list = "summary"
		}
		if began.list != "" {
			began.content, err = wire.List(wire.Find(e.step, began.list))
		}
		a.steps = append(a.steps, began)
		return err
	case stepDelta:
		i := slices.IndexFunc(a.steps, func(s *assembled) bool { return s.index == e.index && s.whole == nil })
		if i < 0 {
			return fmt.Errorf("step %d has no start", e.index)
		}
		return a.steps[i].grow(e.delta)
	}
	return nil
}

// grow adds a piece to a step: to its list, or as members of its own.
func (s *assembled) grow(delta []byte) error {
	switch typ := wire.TextIn(delta, "type"); {
	case typ == "text" && s.typ == modelOutput:
		inside, err := wire.Inside(wire.Find(delta, "text"))
		if last := len(s.content) - 1; !s.grows && last >= 0 && wire.TextIn(s.content[last], "type") == "text" && wire.Find(s.content[last], "annotations") == nil {
			own, _ := wire.Inside(wire.Find(s.content[last], "text"))
			s.text, s.grows, s.content = bytes.Clone(own), true, s.content[:last]
		}
		s.text, s.grows = append(s.text, inside...), true
		return err
	case typ == "text_annotation" || typ == "text_annotation_delta":
		s.flush()
		if last := len(s.content) - 1; last >= 0 {
			list, err := wire.List(wire.Find(delta, "annotations"))
			own := wire.Find(s.content[last], "annotations")
			if wire.KindOf(own) != "an array" {
				own = []byte("[]")
			}
			s.content[last] = wire.SetMember(s.content[last], "annotations", wire.AppendElements(own, list...))
			return err
		}
	case typ == signatureDelta:
		s.members.Set("signature", orEmpty(wire.Find(delta, "signature")))
	case typ == "thought_summary":
		if content := wire.Find(delta, "content"); content != nil {
			s.content = append(s.content, content)
		}
	case s.list != "":
		s.flush()
		s.content = append(s.content, delta)
	default:
		for m, err := range wire.Members(delta) {
			if err != nil {
				return err
			}
			if name := string(m.Name); name != "type" {
				s.members.Set(name, m.Value)
			}
		}
	}
	return nil
}

// flush ends the text that grows.
func (s *assembled) flush() {
	if s.grows {
		s.content = append(s.content, textContent(slices.Concat([]byte{'"'}, s.text, []byte{'"'})))
	}
	s.text, s.grows = nil, false
}

func (s *assembled) json() []byte {
	if s.whole != nil {
		return s.whole
	}
	if s.flush(); s.list != "" && len(s.content) > 0 {
		s.members.Set(s.list, wire.Array(s.content...))
	}
	return s.members.JSON()
}

func orEmpty(text []byte) []byte {
	if wire.IsNull(text) {
		return []byte(`""`)
	}
	return text
}

func (a *assembly) json() ([]byte, error) {
	if a.top.Value("steps") == nil {
		slices.SortStableFunc(a.steps, func(x, y *assembled) int { return x.index - y.index })
		var list [][]byte
		for _, s := range a.steps {
			list = append(list, s.json())
		}
		a.top.Set("steps", wire.Array(list...))
	}
	out := a.top.JSON()
	err := wire.Strict(out)
	if err == nil && !a.ended {
		err = errors.New("it has no end")
	}
	if err != nil {
		return nil, fmt.Errorf("collecting a streamed interaction: %w", err)
	}
	return out, nil
}

// Expand turns a plain answer into a stream that says the same: each step whole.
func (*Codec) Expand(plain []byte) ([]byte, error) {
	a, err := readAnswer(plain)
	if err != nil {
		return nil, err
	}
	var top, begun wire.Object
	for m, err := range wire.Members(plain) {
		switch name := string(m.Name); {
		case err != nil:
			return nil, err
		case name == "steps":
		case name == "id", name == "model", name == "agent", name == "object":
			begun.Set(name, m.Value)
			top.Set(name, m.Value)
		default:
			top.Set(name, m.Value)
		}
	}
	begun.Set("status", []byte(`"in_progress"`))
	out := appendWhole(nil, created, begun)
	for _, s := range a.steps {
		out = expandStep(out, s)
	}
	return append(appendWhole(out, completed, top), "event: done\ndata: [DONE]\n\n"...), nil
}

// appendWhole appends an event of the whole interaction.
func appendWhole(dst []byte, typ string, interaction wire.Object) []byte {
	return wire.AppendEvent(dst, typ, []byte(`{"interaction":`+string(interaction.JSON())+`,"event_type":"`+typ+`"}`))
}

// expandStep appends the events of a step.
func expandStep(out []byte, s *step) []byte {
	start, deltas := s.raw, [][]byte(nil)
	delta := func(typ, name string, value []byte) {
		deltas = append(deltas, []byte(`{"type":"`+typ+`","`+name+`":`+string(value)+`}`))
	}
	without := func(names ...string) {
		for _, name := range names {
			start = wire.WithoutMember(start, name)
		}
	}
	switch {
	case s.typ == functionCall:
		start = wire.SetMember(start, "arguments", []byte("{}"))
		args := s.args
		if !wire.IsNull(args) && wire.KindOf(args) != "a string" {
			args = wire.AppendText(nil, string(args))
		}
		if !wire.IsEmpty(args) {
			delta(argumentsDelta, "arguments", args)
		}
	case s.typ == modelOutput:
		without("content")
		_ = wire.EachElement(wire.Find(s.raw, "content"), func(content []byte) error {
			annotations := wire.Find(content, "annotations")
			if wire.TextIn(content, "type") == "text" && annotations != nil {
				content = wire.WithoutMember(content, "annotations")
			} else {
				annotations = nil
			}
			deltas = append(deltas, content)
			if !wire.IsNull(annotations) {
				delta("text_annotation_delta", "annotations", annotations)
			}
			return nil
		})
	case s.typ == "thought":
		without("summary", "signature")
		_ = wire.EachElement(wire.Find(s.raw, "summary"), func(content []byte) error {
			delta("thought_summary", "content", content)
			return nil
		})
		if signature := wire.Find(s.raw, "signature"); signature != nil {
			delta(signatureDelta, "signature", signature)
		}
	case s.observed() && s.args != nil:
		without("arguments")
		delta(s.typ, "arguments", s.args)
	default:
		if result := wire.Find(s.raw, "result"); result != nil {
			without("result")
			delta(s.typ, "result", result)
		}
	}
	out = appendEvent(out, stepStart, s.index, `"step":`+string(start))
	for _, d := range deltas {
		out = appendEvent(out, stepDelta, s.index, `"delta":`+string(d))
	}
	return appendEvent(out, stepStop, s.index, "")
}
