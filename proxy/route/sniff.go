package route

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Glance is how much of a body is read to see whether it may be JSON.
const Glance = 512

// Sniff reads a request that no format's path names, to find what it is: a tool
// call of MCP goes through the MCP gate, whichever host it is for, and a model
// request that no codec reads is refused on a host that serves models, and
// elsewhere a finding. It says in the target what it has found out, and returns
// the finding, if there is one, and why the request is refused, if it is. What is
// read, at most limit bytes, is put back, to be sent as it came. allow lets through
// what would be refused for its calls that nobody sees.
func Sniff(w http.ResponseWriter, r *http.Request, t *Target, limit int64, allow bool) (finding string, refused *Refusal) {
	models, path := t.models, t.URL.Path
	says := models || mayBeJSON(r)
	if !HasBody(r) || !says && !mayCallTool(r) {
		return "", nil
	}
	if _, err := MediaType(r.Header); models && err != nil && !harmless(path) && !allow {
		return "", &Refusal{http.StatusUnsupportedMediaType, holdgate.RuleMalformed, fmt.Errorf("the request to a host that serves models is refused because two readers could take it differently: %w", err)}
	}
	body, err := peek(w, r, limit)
	switch {
	case errors.Is(err, errNotJSON):
		return "", nil
	case err != nil && !says:
		return "", nil // it comes again where it is sent on
	case errors.Is(err, wire.ErrTooLarge), errors.Is(err, wire.ErrEncoding):
		if !models || allow {
			return "", nil
		}
		return "", &Refusal{http.StatusRequestEntityTooLarge, holdgate.RuleTooLarge, fmt.Errorf("the request to a host that serves models cannot be looked into: %w", err)}
	case err != nil:
		return "", &Refusal{http.StatusBadRequest, holdgate.RuleMalformed, fmt.Errorf("reading the request: %w", err)}
	}
	body = wire.Narrow(body)
	if Method(r) == http.MethodPost && mcp.CallsTool(body) {
		t.MCP, t.Name = true, t.URL.Host
		return "", nil
	}
	if !says { // a file, whatever is in it
		return "", nil
	}
	asks, err := asksModel(path, body)
	switch {
	case models && err != nil && !allow && (saysJSON(r.Header) || r.Header.Get("Content-Type") == ""):
		return "", &Refusal{http.StatusBadRequest, holdgate.RuleMalformed, fmt.Errorf("the request to a host that serves models cannot be looked into: %w", err)}
	case !asks, !models && !namesModel(body):
		return "", nil
	case models && !allow:
		return "", &Refusal{http.StatusBadRequest, holdgate.RuleUnsupported, errors.New(Ungated(path))}
	}
	return "the request looks like one of a model API, and is in no format that is read here: calls in its answer go unseen", nil
}

// HasBody reports whether the request can ask for something by what it carries.
func HasBody(r *http.Request) bool {
	return r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody
}

// Method is the request's method as lax servers read it.
func Method(r *http.Request) string { return strings.ToUpper(strings.TrimSpace(r.Method)) }

// mayBeJSON reports whether a request's body may be JSON that a server reads,
// by its headers: some go by nothing but the body. One without a length may be
// half of a conversation, in which nothing is to be waited for.
func mayBeJSON(r *http.Request) bool {
	typ := strings.ToLower(r.Header.Get("Content-Type"))
	return saysJSON(r.Header) || r.ContentLength > 0 && (typ == "" || strings.HasPrefix(typ, "text/") || strings.HasPrefix(typ, "application/x-www-form-urlencoded"))
}

// mayCallTool reports whether a server that goes by nothing but the body could find a tool
// call of MCP in it, whatever type it is said to be. A body of HTTP/1 is waited for, also
// where it has no length; from HTTP/2 on one without may be half of a conversation.
func mayCallTool(r *http.Request) bool {
	return Method(r) == http.MethodPost && (r.ContentLength > 0 || r.ProtoMajor == 1)
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
	return strings.Contains(accept, TypeEvents) && strings.Contains(accept, "json")
}

// errNotJSON says that a body begins as no JSON object or array does.
var errNotJSON = errors.New("the body is no JSON object or array")

// peek returns the request's body, decoded, and puts back what it has read. It
// reads no more than a glance of what is plainly no JSON, and no more than
// the limit of anything. A tool call that is not coded as its headers say comes as it is.
func peek(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // not every connection has one
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	var raw bytes.Buffer
	rest := r.Body
	defer func() { r.Body = &putBack{io.MultiReader(&raw, rest), rest} }()

	coding := wire.ContentEncoding(r.Header)
	plain := coding == "" || strings.EqualFold(coding, "identity")
	if plain {
		head := make([]byte, Glance)
		n, err := io.ReadAtLeast(rest, head, 4) // tells every encoding of JSON
		raw.Write(head[:n])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		if !BeginsJSON(head[:n]) {
			return nil, errNotJSON
		}
	}
	if _, err := io.CopyN(&raw, rest, limit+1-int64(raw.Len())); err == nil {
		return nil, fmt.Errorf("%w: more than %d bytes", wire.ErrTooLarge, limit)
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if plain {
		return raw.Bytes(), nil
	}
	if mcp.CallsTool(wire.Narrow(raw.Bytes())) { // to a server that knows no codings
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
	case !BeginsJSON(body):
		return nil, errNotJSON
	}
	return body, nil
}

// BeginsJSON reports whether a body may be a JSON object or array. Blanks alone
// may be followed by one.
func BeginsJSON(head []byte) bool {
	text := bytes.TrimLeft(wire.Narrow(head), wire.Blanks)
	return len(text) == 0 && len(head) > 0 || len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// putBack is a body of which a part was read already.
type putBack struct {
	io.Reader
	io.Closer
}
