package credential

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Traces are the texts by which a value would be known to who reads them: the
// value itself, and as JSON, URLs and Basic write it. Some servers repeat a
// request's headers in their answers; the agent is not to read the value there.
type Traces [][]byte

// shortest is the length under which a text is not looked for: it would be found
// where nobody meant it.
const shortest = 8

// traces are those of a value in a form.
func traces(form, value string) Traces {
	texts := []string{value}
	if form == Basic {
		_, password, _ := strings.Cut(value, ":")
		texts = append(texts, password, base64.StdEncoding.EncodeToString([]byte(value)))
	}
	var t Traces
	for _, text := range texts {
		quoted, _ := json.Marshal(text) // a string can be written
		escaped := string(quoted[1 : len(quoted)-1])
		for _, as := range []string{text, escaped, strings.ReplaceAll(text, "/", `\/`), strings.ReplaceAll(escaped, "/", `\/`), url.QueryEscape(text), url.PathEscape(text)} {
			if len(as) >= shortest && !slices.ContainsFunc(t, func(b []byte) bool { return string(b) == as }) {
				t = append(t, []byte(as))
			}
		}
	}
	// Longer ones first: one may be part of another.
	slices.SortStableFunc(t, func(a, b []byte) int { return len(b) - len(a) })
	return t
}

// mask writes asterisks over every trace in b, and reports whether there was one.
func (t Traces) mask(b []byte) (found bool) {
	for _, trace := range t {
		for at := 0; ; {
			i := bytes.Index(b[at:], trace)
			if i < 0 {
				break
			}
			at += i
			for j := range trace {
				b[at+j] = '*'
			}
			at += len(trace)
			found = true
		}
	}
	return found
}

// MaskHeader writes asterisks over every trace in a header's values, and reports
// whether there was one.
func (t Traces) MaskHeader(h http.Header) (found bool) {
	for _, values := range h {
		for i, v := range values {
			if b := []byte(v); t.mask(b) {
				values[i], found = string(b), true
			}
		}
	}
	return found
}

// In reports whether a text shows a trace, or a part of one: errors quote the
// beginning of what they are about.
func (t Traces) In(text string) bool {
	for _, trace := range t {
		for i := range len(trace) - shortest + 1 {
			if strings.Contains(text, string(trace[i:i+shortest])) {
				return true
			}
		}
	}
	return false
}

// longest is the length of the longest trace.
func (t Traces) longest() int {
	if len(t) == 0 {
		return 0
	}
	return len(t[0])
}

// begun is how many bytes at the end of b may be the beginning of a trace.
func (t Traces) begun(b []byte) int {
	most := 0
	for _, trace := range t {
		for from := max(0, len(b)-len(trace)+1); from < len(b)-most; from++ {
			i := bytes.IndexByte(b[from:], trace[0])
			if i < 0 {
				break
			}
			if from += i; from < len(b) && bytes.HasPrefix(trace, b[from:]) {
				most = max(most, len(b)-from)
			}
		}
	}
	return most
}

// A Reader masks traces in what it reads. What has none of them passes as it
// comes: bytes are kept back only where they may be the beginning of a trace,
// until it is seen whether they are. It is for one goroutine.
type Reader struct {
	r      io.Reader
	t      Traces
	found  func() // called once, where there is one
	held   []byte // may be the beginning of a trace
	own    []byte // what callers with little room are served from
	err    error  // of r
	masked bool
}

// Reader returns a Reader of r. found is called when the first trace is masked.
func (t Traces) Reader(r io.Reader, found func()) *Reader {
	return &Reader{r: r, t: t, found: found}
}

// Read implements [io.Reader].
func (m *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(m.own) == 0 && len(p) > 2*m.t.longest() {
		return m.read(p)
	}
	if len(m.own) == 0 {
		b := make([]byte, max(512, 2*m.t.longest()+1))
		n, err := m.read(b)
		if err != nil {
			return 0, err
		}
		m.own = b[:n]
	}
	n := copy(p, m.own)
	m.own = m.own[n:]
	return n, nil
}

// read reads into p, which has room for what is held and more. It returns bytes or
// an error. Where r breaks, what may be the beginning of a trace is lost with the rest.
func (m *Reader) read(p []byte) (int, error) {
	for m.err == nil {
		n := copy(p, m.held)
		more, err := m.r.Read(p[n:])
		n += more
		if m.t.mask(p[:n]) && !m.masked {
			m.masked = true
			m.found()
		}
		m.err = err
		keep := m.t.begun(p[:n])
		if errors.Is(err, io.EOF) {
			keep = 0 // nothing comes that could complete it
		}
		m.held = append(m.held[:0], p[n-keep:n]...)
		if n -= keep; n > 0 {
			return n, nil
		}
	}
	return 0, m.err
}
