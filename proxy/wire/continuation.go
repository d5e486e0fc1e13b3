package wire

import (
	"bytes"
	"strconv"
)

// Joiner is what a [Continuation] must know of a format.
type Joiner interface {
	// Join takes an event of an answer, the first one of all being answer 0. It
	// returns what goes on to the client, or says that the event is of the
	// answer's ending and must wait: nothing but endings follows.
	Join(e Event, answer int) (out []byte, ending bool)

	// Begin is told that another answer has begun, and of the ending of the one
	// before. It returns what stands between the two.
	Begin(ending []Event) []byte

	// End returns the ending of the last answer as that of all of them.
	End(ending []Event, answer int) []byte
}

// Frames cut an answer into events, as [EventScanner] does.
type Frames interface {
	Push(p []byte)
	End()
	Next() (Event, bool, error)
}

// A Continuation makes one stream of several answers, each of which goes on from the one
// before. It is for one goroutine.
type Continuation struct {
	joiner Joiner
	frames func() Frames // of another answer
	events Frames
	answer int
	next   bool // another answer is to come, in the place of the ending
	ending []Event
}

// continuationLimit is how long an event may be: what goes through has been read with
// the limits of its codec before.
const continuationLimit = 512 << 20

// NewContinuation returns a Continuation of a format whose answers are server-sent events.
func NewContinuation(j Joiner) *Continuation {
	return NewContinuationOf(j, func() Frames { return &EventScanner{Limit: continuationLimit} })
}

// NewLineContinuation returns a Continuation of a format whose answers are lines of JSON: each is
// an event with data and without a type.
func NewLineContinuation(j Joiner) *Continuation {
	return NewContinuationOf(j, func() Frames { return &LineFrames{LineScanner{Limit: continuationLimit}} })
}

// NewContinuationOf returns a Continuation of a format whose answers frames cuts, each with one of
// its own. An event without data goes on as it is.
func NewContinuationOf(j Joiner, frames func() Frames) *Continuation {
	return &Continuation{joiner: j, frames: frames, events: frames()}
}

// LineFrames are lines of JSON taken for events, which have no type.
type LineFrames struct{ LineScanner }

// Next implements [Frames].
func (f *LineFrames) Next() (Event, bool, error) {
	l, ok, err := f.LineScanner.Next()
	return Event{Raw: l.Raw, Data: l.Data}, ok, err
}

// Push takes the next bytes of an answer, and returns what goes on to the client
// now. The ending waits.
func (s *Continuation) Push(p []byte) (out []byte) {
	s.events.Push(p)
	return s.drain()
}

func (s *Continuation) drain() (out []byte) {
	for {
		e, ok, err := s.events.Next()
		if err != nil {
			return out // what Holdgate wrote itself: it does not happen
		}
		if !ok {
			return out
		}
		if e.Data == nil {
			out = append(out, e.Raw...)
			continue
		}
		if s.next {
			s.next = false
			s.answer++
			out = append(out, s.joiner.Begin(s.ending)...)
			s.ending = nil
		}
		b, ending := s.joiner.Join(e, s.answer)
		if ending {
			s.ending = append(s.ending, e)
			continue
		}
		out = append(out, b...)
	}
}

// Next says that what comes now is another answer, which goes on from the one
// that has ended, and returns what was left of that one. Where nothing comes, the
// ending is that one's.
func (s *Continuation) Next() (out []byte) {
	s.events.End()
	out = s.drain()
	s.next, s.events = true, s.frames()
	return out
}

// End returns what is left, and the ending. Of one answer alone they have their
// own bytes.
func (s *Continuation) End() (out []byte) {
	s.events.End()
	out = s.drain()
	if s.answer > 0 {
		return append(out, s.joiner.End(s.ending, s.answer)...)
	}
	for _, e := range s.ending {
		out = append(out, e.Raw...)
	}
	return out
}

// SumNumbers returns an object with the members of two: numbers added up,
// objects likewise, and of all else what the second says unless that is null.
func SumNumbers(a, b []byte) []byte {
	switch {
	case IsNull(b) || KindOf(b) != "an object":
		return a
	case IsNull(a) || KindOf(a) != "an object":
		return b
	}
	sum := a
	for m, err := range Members(b) {
		if err != nil {
			return b
		}
		name := string(m.Name)
		own := Find(a, name)
		if own == nil {
			sum = AppendMember(sum, name, m.Value)
			continue
		}
		value := m.Value
		switch {
		case IsNull(value):
			value = own
		case KindOf(value) == "a number" && KindOf(own) == "a number":
			value = addNumbers(own, value)
		case KindOf(value) == "an object":
			value = SumNumbers(own, value)
		}
		sum = RewriteMembers(sum, func(of Member) []byte {
			if string(of.Name) == name {
				return value
			}
			return of.Value
		})
	}
	return sum
}

// addNumbers adds two JSON numbers, exactly where they are whole.
func addNumbers(a, b []byte) []byte {
	x, err1 := strconv.ParseInt(string(a), 10, 64)
	y, err2 := strconv.ParseInt(string(b), 10, 64)
	if err1 == nil && err2 == nil {
		return strconv.AppendInt(nil, x+y, 10)
	}
	f, err1 := strconv.ParseFloat(string(a), 64)
	g, err2 := strconv.ParseFloat(string(b), 64)
	if err1 != nil || err2 != nil {
		return b
	}
	return strconv.AppendFloat(nil, f+g, 'g', -1, 64)
}

// AppendElements returns an array with more elements at its end.
func AppendElements(array []byte, elements ...[]byte) []byte {
	out := bytes.TrimRight(array, " \t\r\n")
	empty := IsEmpty(out)
	out = bytes.Clone(out[:len(out)-1])
	for i, e := range elements {
		if i > 0 || !empty {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}
