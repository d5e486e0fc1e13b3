package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// maxStrange is how many roads are remembered that look like a model API's.
const maxStrange = 1024

// A road is where an agent was seen to speak what looks like a model API.
type road struct{ agent, host, path string }

func (e *exchange) road() road {
	return road{e.t.caller.Agent.ID, route.LowerHost(e.t.url.Host), route.LaxPath(e.t.url.Path)}
}

// strangeRoad reports whether something on this road has looked like a model
// API before.
func (e *exchange) strangeRoad() bool {
	_, known := e.s.strange.Get(e.road())
	return known
}

// found writes to the log, and tells people, that something looks like a model API that no codec
// reads: once for each road, for as long as it is remembered. The log being
// full or broken is no reason to refuse: what is decided of the request is
// written all the same.
func (e *exchange) found(what string) {
	e.seen.looksLike = holdgate.LooksLikeModelAPI
	if known, _ := e.s.strange.ContainsOrAdd(e.road(), struct{}{}); known {
		return
	}
	call := gate.AuditCall(e.call(e.asHTTP()))
	if err := e.s.c.Queue.Find(context.WithoutCancel(e.r.Context()), e.t.caller, call, holdgate.Bounded(what, 1000)); err != nil {
		e.s.c.Logger.Error("writing a finding to the audit log", "err", err)
	}
}

// namesModel reports whether a JSON body on a host that is not known to serve
// models names one, besides what a model is told.
func namesModel(body []byte) bool {
	for m, err := range wire.Members(bytes.TrimLeft(body, blanks)) {
		if err != nil {
			return false
		}
		if strings.EqualFold(string(m.Name), "model") && wire.KindOf(m.Value) == "a string" {
			return true
		}
	}
	return false
}

// callMarks are the names under which answers of model APIs have calls.
var callMarks = [][]byte{[]byte(`"tool_calls"`), []byte(`"tool_use"`), []byte(`"toolUse"`), []byte(`"function_call"`), []byte(`"functionCall"`)}

// longestMark is the length of the longest of callMarks.
var longestMark = len(slices.MaxFunc(callMarks, func(a, b []byte) int { return len(a) - len(b) }))

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
	s.found = slices.ContainsFunc(callMarks, func(mark []byte) bool { return bytes.Contains(s.tail, mark) })
	s.tail = append(s.tail[:0], s.tail[max(0, len(s.tail)-longestMark+1):]...)
	return n, nil
}

// spotting returns a reader of an answer's body that finds out whether there
// are calls in it as it is read, decoded aside where it is compressed. end says
// so to the log; it must be called. What asked for nothing, and what is no JSON
// in any framing, is not searched.
func (e *exchange) spotting(resp *http.Response) (body io.Reader, end func()) {
	if !hasBody(e.r) || e.seen.looksLike != "" || !mayHoldCalls(resp.Header) {
		return resp.Body, func() {}
	}
	s := &spotter{}
	report := func() {
		if s.found {
			e.found("the answer holds what looks like tool calls of a model, in no format that is read here")
		}
	}
	coding := wire.ContentEncoding(resp.Header)
	if coding == "" || strings.EqualFold(coding, "identity") {
		return io.TeeReader(resp.Body, s), report
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
	return io.TeeReader(resp.Body, unfailing{pw}), func() {
		_ = pw.Close()
		<-done
		report()
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
