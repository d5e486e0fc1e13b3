package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/wire"
)

// glance is how much of a body is read to see whether it may be JSON.
const glance = 512

// look reads a request that no format's path names, to find what it is: a tool
// call of MCP goes through the MCP gate, whichever host it is for, and a model
// request that no codec reads is refused on a host that serves models, and
// elsewhere a finding, of which policy is told. It reports false where the
// client has been answered. What is read is put back, to be sent as it came.
func (e *exchange) look() bool {
	models := e.t.models
	if !hasBody(e.r) {
		return true
	}
	if e.strangeRoad() {
		e.seen.looksLike = holdgate.LooksLikeModelAPI
	}
	if !models && !mayBeJSON(e.r) {
		return true
	}
	path := e.t.url.Path
	if _, err := mediaType(e.r.Header); models && err != nil && !harmless(path) && !e.s.c.AllowUnsupported {
		e.reject(http.StatusUnsupportedMediaType, holdgate.RuleMalformed, "the request to a host that serves models is refused because two readers could take it differently: "+err.Error())
		return false
	}
	body, err := e.peek()
	switch {
	case errors.Is(err, errNotJSON):
		return true
	case errors.Is(err, wire.ErrTooLarge), errors.Is(err, wire.ErrEncoding):
		if !models || e.s.c.AllowUnsupported {
			return true
		}
		e.reject(http.StatusRequestEntityTooLarge, holdgate.RuleTooLarge, "the request to a host that serves models cannot be looked into: "+err.Error())
		return false
	case err != nil:
		e.reject(http.StatusBadRequest, holdgate.RuleMalformed, "reading the request: "+err.Error())
		return false
	}
	body = narrow(body)
	if method(e.r) == http.MethodPost && mcp.CallsTool(body) {
		e.t.mcp, e.t.name = true, e.t.url.Host
		return true
	}
	asks, err := asksModel(path, body)
	switch {
	case models && err != nil && !e.s.c.AllowUnsupported && (saysJSON(e.r.Header) || e.r.Header.Get("Content-Type") == ""):
		e.reject(http.StatusBadRequest, holdgate.RuleMalformed, "the request to a host that serves models cannot be looked into: "+err.Error())
		return false
	case !asks, !models && !namesModel(body):
	case models && !e.s.c.AllowUnsupported:
		e.reject(http.StatusBadRequest, holdgate.RuleUnsupported, ungated(path))
		return false
	default:
		e.found("the request looks like one of a model API, and is in no format that is read here: calls in its answer go unseen")
	}
	return true
}

// hasBody reports whether the request can ask for something by what it carries.
func hasBody(r *http.Request) bool {
	return r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody
}

// method is the request's method as lax servers read it.
func method(r *http.Request) string { return strings.ToUpper(strings.TrimSpace(r.Method)) }

// mayBeJSON reports whether a request's body may be JSON that a server reads,
// by its headers: some go by nothing but the body. One without a length may be
// half of a conversation, in which nothing is to be waited for.
func mayBeJSON(r *http.Request) bool {
	typ := strings.ToLower(r.Header.Get("Content-Type"))
	return saysJSON(r.Header) || r.ContentLength > 0 && (typ == "" || strings.HasPrefix(typ, "text/") || strings.HasPrefix(typ, "application/x-www-form-urlencoded"))
}

// saysJSON reports whether the headers are those of a JSON document, or of a
// client of MCP.
func saysJSON(h http.Header) bool {
	for _, v := range h.Values("Content-Type") {
		if strings.Contains(strings.ToLower(v), "json") {
			return true
		}
	}
	accept := strings.ToLower(strings.Join(h.Values("Accept"), ","))
	return strings.Contains(accept, typeEvents) && strings.Contains(accept, "json")
}

// errNotJSON says that a body begins as no JSON object or array does.
var errNotJSON = errors.New("the body is no JSON object or array")

// peek returns the request's body, decoded, and puts back what it has read. It
// reads no more than a glance of what is plainly no JSON, and no more than
// Limits.Body of anything.
func (e *exchange) peek() ([]byte, error) {
	rc := http.NewResponseController(e.w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // not every connection has one
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	var raw bytes.Buffer
	rest := e.r.Body
	defer func() { e.r.Body = &putBack{io.MultiReader(&raw, rest), rest} }()

	coding := wire.ContentEncoding(e.r.Header)
	plain := coding == "" || strings.EqualFold(coding, "identity")
	if plain {
		head := make([]byte, glance)
		n, err := io.ReadAtLeast(rest, head, 4) // tells every encoding of JSON
		raw.Write(head[:n])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		if !beginsJSON(head[:n]) {
			return nil, errNotJSON
		}
	}
	limit := e.s.c.Limits.Body
	if _, err := io.CopyN(&raw, rest, limit+1-int64(raw.Len())); err == nil {
		return nil, fmt.Errorf("%w: more than %d bytes", wire.ErrTooLarge, limit)
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if plain {
		return raw.Bytes(), nil
	}
	d, err := wire.Decode(bytes.NewReader(raw.Bytes()), coding, limit)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(d)
	switch {
	case errors.Is(err, wire.ErrTooLarge):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", wire.ErrEncoding, err)
	case !beginsJSON(body):
		return nil, errNotJSON
	}
	return body, nil
}

// beginsJSON reports whether a body may be a JSON object or array. Blanks alone
// may be followed by one.
func beginsJSON(head []byte) bool {
	text := bytes.TrimLeft(narrow(head), blanks)
	return len(text) == 0 && len(head) > 0 || len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// narrow returns a body in UTF-8 that begins as JSON in UTF-16 or UTF-32 does,
// and every other as it is. RFC 8259 (section 8.1) has no such JSON, but some
// servers read it.
func narrow(body []byte) []byte {
	if len(body) < 4 {
		return body
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case body[0] == 0xFE && body[1] == 0xFF, body[0] == 0:
		order = binary.BigEndian
	case body[0] == 0xFF && body[1] == 0xFE, body[1] == 0:
	default:
		return body
	}
	var text []byte
	if order.Uint32(body) < 0x80 || order.Uint32(body) == 0xFEFF {
		for ; len(body) >= 4; body = body[4:] {
			text = utf8.AppendRune(text, rune(order.Uint32(body)))
		}
		return text
	}
	units := make([]uint16, 0, len(body)/2)
	for ; len(body) >= 2; body = body[2:] {
		units = append(units, order.Uint16(body))
	}
	return []byte(string(utf16.Decode(units)))
}

// putBack is a body of which a part was read already.
type putBack struct {
	io.Reader
	io.Closer
}

// blanks are what readers skip before JSON and event streams: white space, and
// the bytes of a byte order mark.
const blanks = " \t\r\n\xEF\xBB\xBF"
