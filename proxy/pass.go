package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/mcpproxy"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/rego"
)

// parse says what a request of no known format is, as policy sees it.
func (e *request) parse() holdgate.Call {
	if e.Target.MCP && route.Method(e.R) == http.MethodDelete {
		return mcpproxy.TransportCall(e.Exchange)
	}
	// The answer may begin while the body is still being read (RFC 9112
	// section 9.3 allows it); HTTP/2 can do so anyway.
	_ = http.NewResponseController(e.W).EnableFullDuplex()
	e.Facts.Action, e.Facts.Upgrade = route.ReadAction(e.W, e.R, e.Target.URL, e.s.c.Limits.Body), upstream.UpgradeOf(e.R)
	return e.AsHTTP()
}

// permit takes the request through the gate, and reports whether it may be sent. Where it
// may not the client has been answered, or has gone.
func (e *request) permit(c holdgate.Call) bool {
	if c.Kind != holdgate.KindHTTPRequest {
		return e.Permitted(c)
	}
	q := &gate.Evaluation{Call: e.Complete(c), Remark: e.Remark}
	if e.Facts.Upgrade != "" {
		q.Remark = gate.Remarks(q.Remark, upstream.UnseenFrames)
	}
	return e.Permit(q, http.StatusForbidden, func() (holdgate.Digest, error) {
		key, err := e.heldKey()
		if err == nil {
			q.Call.HTTP = e.withBody(q.Call.HTTP)
		}
		return key, err
	})
}

// maxShownBody is how many bytes of a held request's body people are shown.
const maxShownBody = 48 << 10

// withBody is a request with the body that was read of it, as people are shown it.
func (e *request) withBody(h *holdgate.HTTP) *holdgate.HTTP {
	if len(e.Body) == 0 {
		return h
	}
	sum := sha256.Sum256(e.Body)
	b := &holdgate.HTTPBody{Type: rego.Conceal(e.R.Header.Get("Content-Type")), Size: len(e.Body), Rest: len(e.Body), SHA256: hex.EncodeToString(sum[:])}
	if coding := e.R.Header.Get("Content-Encoding"); coding != "" {
		b.Type += ", " + coding
	} else if utf8.Valid(e.Body) && bytes.IndexByte(e.Body, 0) < 0 {
		// Credentials are looked for in all of it: a cut could divide one.
		whole := string(e.Body)
		shown := rego.Conceal(whole)
		if b.Concealed = shown != whole; disguises(shown) {
			b.Concealed = true // and where it stands cannot be said: nothing is shown
		} else {
			b.Text = strings.ToValidUTF8(shown[:min(len(shown), maxShownBody)], "")
			b.Rest = utf8.RuneCountInString(shown[len(b.Text):])
		}
	}
	if b.Concealed {
		b.SHA256 = ""
	}
	with := *h
	with.Body = b
	return &with
}

// jsonEscape is a character of ASCII as JSON can write it besides.
var jsonEscape = regexp.MustCompile(`\\/|\\u00[0-7][0-9A-Fa-f]`)

// disguises reports whether a text holds a credential to a server that reads it as a form
// or as JSON, and not to who reads it as it stands.
func disguises(text string) bool {
	asForm := wire.Unescaped(strings.ReplaceAll(text, "+", " "))
	asJSON := jsonEscape.ReplaceAllStringFunc(text, func(escape string) string {
		code, err := strconv.ParseUint(strings.TrimPrefix(escape, `\u`), 16, 8)
		if err != nil {
			return "/"
		}
		return string(rune(code))
	})
	return slices.ContainsFunc([]string{asForm, asJSON}, func(read string) bool { return read != text && rego.Conceal(read) != read })
}

// heldKey names a request that is held by all that is sent of it. So it is read
// whole now, as it came: nobody looks into it.
func (e *request) heldKey() (holdgate.Digest, error) {
	body, err := e.ReadBody("")
	if err != nil {
		rerr := &route.Refusal{Status: http.StatusBadRequest, Rule: holdgate.RuleMalformed, Err: fmt.Errorf("a held request must be read whole: %w", err)}
		if errors.Is(err, wire.ErrTooLarge) {
			rerr.Status, rerr.Rule = http.StatusRequestEntityTooLarge, holdgate.RuleTooLarge
		}
		return "", rerr
	}
	e.Body, e.whole = body, true
	return e.s.steps.Digester.Fields("http_request", e.R.Method, e.Target.URL.String(), e.Credentials(), route.Meaning(e.R.Header), e.Facts.Upgrade, string(body)), nil
}

// outgoing is the request as it goes on, its body from memory where it was held or is
// small. A body of unknown length may be one half of a conversation: it is passed on as
// it comes.
func (e *request) outgoing() (*http.Request, *route.Refusal) {
	r, req := e.R, upstream.Outgoing(e.R, e.Target.URL)
	switch {
	case e.whole:
		upstream.Carry(req, e.Body)
	case r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody:
	case r.ContentLength > 0 && r.ContentLength <= min(route.PassBuffer, e.s.c.Limits.Body):
		body, err := e.ReadBody("")
		if err != nil {
			return nil, &route.Refusal{Status: http.StatusBadRequest, Rule: holdgate.RuleMalformed, Err: fmt.Errorf("reading the request: %w", err)}
		}
		upstream.Carry(req, body)
	default:
		req.Body, req.ContentLength = io.NopCloser(r.Body), r.ContentLength
		if len(r.Trailer) > 0 {
			req.Trailer = r.Trailer // filled in when the body has been read
		}
	}
	return req, nil
}

// send sends the request on, until ctx ends.
func (e *request) send(ctx context.Context, req *http.Request) (*http.Response, error) {
	if e.inspectsAnswer() {
		wholeFile(req.Header)
	}
	if wantsTrailers(e.R.Header) {
		req.Header.Set("Te", "trailers")
	}
	if e.Facts.Upgrade != "" {
		upstream.AskUpgrade(req.Header)
	}
	return e.Transport().RoundTrip(req.WithContext(ctx))
}

// inspectsAnswer reports whether the answer is a file that may have calls in it.
func (e *request) inspectsAnswer() bool { return e.Target.File && !e.s.c.AllowUnsupported }

// result streams the answer back as it comes.
func (e *request) result(resp *http.Response) error {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		if err := upstream.ChangeProtocol(e.W, resp, e.Facts.Upgrade, e.UntilEnded); err != nil {
			e.Malformed(err)
		}
		return nil
	}
	if e.inspectsAnswer() && resp.StatusCode/100 <= 3 {
		return e.passFile(resp)
	}
	h := wire.EndToEnd(resp.Header)
	for name := range resp.Trailer {
		h.Add("Trailer", name)
	}
	wire.WriteHeader(e.W, resp.StatusCode, h)
	body, end := e.spotting(resp)
	defer end()
	if err := copyFlushing(e.W, body, resp.ContentLength < 0); err != nil {
		return steps.ErrCut
	}
	for name, v := range resp.Trailer {
		e.W.Header()[name] = v
	}
	return nil
}

// wantsTrailers reports whether the client takes trailers, which is the one
// thing in TE that is not of one connection only: gRPC needs it.
func wantsTrailers(h http.Header) bool {
	for _, v := range h.Values("Te") {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(part), "trailers") {
				return true
			}
		}
	}
	return false
}

// copyFlushing copies what comes as it comes: an answer of unknown length may
// be a stream of any format.
func copyFlushing(w http.ResponseWriter, src io.Reader, flush bool) error {
	if !flush {
		_, err := io.Copy(w, src)
		return err
	}
	rc := http.NewResponseController(w)
	if err := rc.Flush(); err != nil {
		return err
	}
	buf := make([]byte, 32<<10)
	for {
		n, rerr := src.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			if err := rc.Flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(rerr, io.EOF):
			return nil
		case rerr != nil:
			return rerr
		}
	}
}
