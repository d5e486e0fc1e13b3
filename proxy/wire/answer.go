package wire

import (
	"errors"
	"slices"

	"github.com/holdgate/holdgate"
)

// ErrUnsupported is wrapped where a codec knows that a request is for a model,
// but not the form that the answer will have.
var ErrUnsupported = errors.New("this model API is not gated yet, so its tool calls would go unseen")

// A Part is a run of an answer's bytes, exactly as they came. The Bytes of all
// parts of an answer, joined, are the answer.
type Part struct {
	Bytes []byte
	// Call is the complete call that these bytes are, with ID, Kind and Tool
	// set; nil for everything else.
	Call *holdgate.Call
	// Observed says that the provider has run Call by itself: there is nothing
	// left to decide.
	Observed bool
	// Fixed says that nobody can put other arguments into Call: the format
	// has no JSON object there. A verdict that does so all the same refuses.
	Fixed bool
	// Tag is for the codec that made the part.
	Tag any
}

// A Stream cuts an answer that arrives in pieces into parts, and writes them
// again. It is for one goroutine.
//
// From the first byte that belongs to a call until the call is complete, Push
// keeps what it was given; everything before has been returned. How the
// answer was cut into pieces makes no difference to the calls found.
type Stream interface {
	// Push takes the next bytes and returns the parts that they complete. The
	// stream keeps no reference to p. An error means that the answer cannot be
	// understood and that nothing more of it may be sent.
	Push(p []byte) ([]Part, error)

	// End says that the answer is over, and returns what is left. An answer
	// that ends inside a call is an error.
	End() ([]Part, error)

	// Render returns what is to be sent for a part; parts are rendered in the
	// order in which they were returned. The verdict counts for calls that are
	// not Observed. As long as every call was released as it came, without new
	// arguments and without a note, the bytes returned, joined, are the parts'
	// own.
	Render(p Part, v holdgate.Verdict) []byte

	// Idle returns an event that keeps the client waiting and means nothing,
	// fit to follow what was rendered last.
	Idle() []byte

	// Fail returns what tells the client in mid-stream that the rest of the
	// answer does not come.
	Fail(message string) []byte

	// Usage is what the answer has used, as far as what was pushed says it. No
	// usage that is said makes Push fail.
	Usage() holdgate.Usage

	// UsedAll reports whether an event has come behind which no more usage is said.
	// Clients may leave there, before the stream ends.
	UsedAll() bool
}

// An Answer is a whole answer that did not come as a stream.
type Answer interface {
	// Calls returns the calls in it, in order.
	Calls() []Part
	// Render returns the answer under one verdict for each of Calls. Where
	// every one releases the call as it came, it is the answer's own bytes.
	Render(verdicts []holdgate.Verdict) []byte
	// Usage is what the answer says that it has used.
	Usage() holdgate.Usage
}

// VerdictOf is the verdict of the call that stands at i of [Answer].Calls. One
// that is missing refuses.
func VerdictOf(verdicts []holdgate.Verdict, i int) holdgate.Verdict {
	if i < len(verdicts) {
		return verdicts[i]
	}
	return holdgate.Verdict{}
}

// Under returns what stands in a list in the place of a call: text that says why
// it was refused, the call with other arguments, or the note before it and a comma
// between them. It is nil where the call stays as it came.
func Under(call []byte, v holdgate.Verdict, text func(words string) []byte, edit func(call, arguments []byte) []byte) []byte {
	switch {
	case !v.Release:
		return text(Word(v))
	case v.Arguments != nil:
		call = edit(call, v.Arguments)
	case v.Note == "":
		return nil
	}
	if v.Note == "" {
		return call
	}
	return slices.Concat(text(v.Note), []byte{','}, call)
}
