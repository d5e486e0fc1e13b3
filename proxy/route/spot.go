package route

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// CallMarks are the names under which answers of model APIs have calls.
var CallMarks = [][]byte{[]byte(`"tool_calls"`), []byte(`"tool_use"`), []byte(`"toolUse"`), []byte(`"function_call"`), []byte(`"functionCall"`)}

// longestMark is the length of the longest of callMarks.
var longestMark = len(slices.MaxFunc(CallMarks, func(a, b []byte) int { return len(a) - len(b) }))

// maxSpotted is how much of an answer is searched for calls, decoded.
const maxSpotted = 1 << 20

// A spotter is a writer that looks for the marks of calls in what passes by. It
// never fails.
type spotter struct {
	tail  []byte // the end of what was seen, in which a mark may begin
	seen  int
	found bool
}

func (s *spotter) Write(p []byte) (int, error) {
	n := len(p)
	if s.found || s.seen >= maxSpotted {
		return n, nil
	}
	s.seen += n
	s.tail = append(s.tail, p...)
	s.found = slices.ContainsFunc(CallMarks, func(mark []byte) bool { return bytes.Contains(s.tail, mark) })
	s.tail = append(s.tail[:0], s.tail[max(0, len(s.tail)-longestMark+1):]...)
	return n, nil
}

// Spot returns a reader of an answer's body that finds out whether there are calls
// in it as it is read, decoded aside where it is compressed. end must be called,
// and reports whether there are. What is no JSON in any framing is not searched.
func Spot(resp *http.Response) (body io.Reader, end func() bool) {
	if !mayHoldCalls(resp.Header) {
		return resp.Body, func() bool { return false }
	}
	s := &spotter{}
	coding := wire.ContentEncoding(resp.Header)
	if coding == "" || strings.EqualFold(coding, "identity") {
		return io.TeeReader(resp.Body, s), func() bool { return s.found }
	}
	pr, pw := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer pr.Close()
		if d, err := wire.Decode(pr, coding, maxSpotted); err == nil {
			_, _ = io.Copy(s, d) // what can't be decoded holds no calls that anybody reads
		}
	}()
	return io.TeeReader(resp.Body, unfailing{pw}), func() bool {
		_ = pw.Close()
		<-done
		return s.found
	}
}

// mayHoldCalls reports whether an answer is of a type in which model APIs
// answer.
func mayHoldCalls(h http.Header) bool {
	typ := strings.ToLower(h.Get("Content-Type"))
	return strings.Contains(typ, "json") || strings.Contains(typ, "event")
}

// unfailing drops what its writer no longer takes.
type unfailing struct{ io.Writer }

func (u unfailing) Write(p []byte) (int, error) {
	_, _ = u.Writer.Write(p)
	return len(p), nil
}
