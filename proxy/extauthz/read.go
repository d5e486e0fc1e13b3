package extauthz

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"

	"github.com/holdgate/holdgate/proxy/route"
)

// A refusal is why a request is not even decided.
type refusal struct {
	status int
	why    string
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// partial is set by Envoy's filter to say whether it cut the body.
const partial = "X-Envoy-Auth-Partial-Body"

// hops are headers of Envoy's own that say which try a request is.
var hops = []string{partial, "X-Envoy-Attempt-Count", "X-Envoy-Expected-Rq-Timeout-Ms"}

// read makes a request of what a filter says of it.
func read(in *authv3.CheckRequest, most int64) (*http.Request, *refusal) {
	a := in.GetAttributes().GetRequest().GetHttp()
	if a == nil {
		return nil, refuse(http.StatusBadRequest, "the filter says nothing of an HTTP request")
	}
	u, refused := address(a)
	if refused != nil {
		return nil, refused
	}
	r := &http.Request{Method: a.GetMethod(), URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RequestURI: a.GetPath()}
	if r.Method == "" || strings.ContainsFunc(r.Method, notToken) || r.Method == http.MethodConnect {
		return nil, refuse(http.StatusBadRequest, "the method %q is not decided here", a.GetMethod())
	}
	if r.Header, refused = headers(a); refused != nil {
		return nil, refused
	}
	body, refused := body(a, r, most)
	if refused != nil {
		return nil, refused
	}
	for _, name := range hops {
		r.Header.Del(name)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if len(body) == 0 {
		r.Body = http.NoBody
	}
	return r, nil
}

// address is where the request goes.
func address(a *authv3.AttributeContext_HttpRequest) (*url.URL, *refusal) {
	scheme := strings.ToLower(a.GetScheme())
	if scheme == "" {
		scheme = "http"
	}
	if scheme != "http" && scheme != "https" {
		return nil, refuse(http.StatusBadRequest, "the scheme %q is not decided here", a.GetScheme())
	}
	if !strings.HasPrefix(a.GetPath(), "/") || strings.HasPrefix(a.GetPath(), "//") || strings.ContainsAny(a.GetPath(), "#\\") || a.GetQuery() != "" || a.GetFragment() != "" {
		return nil, refuse(http.StatusBadRequest, "the path %q is ambiguous", a.GetPath())
	}
	u, err := url.ParseRequestURI(a.GetPath())
	if err != nil || u.Host != "" {
		return nil, refuse(http.StatusBadRequest, "the path %q cannot be read", a.GetPath())
	}
	if why := route.OddHost(a.GetHost()); a.GetHost() == "" || why != "" || strings.ContainsAny(a.GetHost(), "/@?#\\") {
		return nil, refuse(http.StatusBadRequest, "the host %q is ambiguous", a.GetHost())
	}
	u.Scheme, u.Host = scheme, a.GetHost()
	return u, nil
}

// headers are those of the request.
func headers(a *authv3.AttributeContext_HttpRequest) (http.Header, *refusal) {
	h := http.Header{}
	add := func(name, value string) *refusal {
		if strings.HasPrefix(name, ":") { // of HTTP/2, said elsewhere
			return nil
		}
		if name == "" || strings.ContainsFunc(name, notToken) || strings.ContainsAny(value, "\r\n\x00") {
			return refuse(http.StatusBadRequest, "the header %q is ambiguous", name)
		}
		h.Add(textproto.CanonicalMIMEHeaderKey(name), value)
		return nil
	}
	raw := a.GetHeaderMap().GetHeaders()
	if len(raw) > 0 && len(a.GetHeaders()) > 0 {
		return nil, refuse(http.StatusBadRequest, "the filter sends the headers in two ways")
	}
	for name, value := range a.GetHeaders() {
		if refused := add(name, value); refused != nil {
			return nil, refused
		}
	}
	for _, v := range raw {
		value := string(v.GetRawValue())
		if value == "" {
			value = v.GetValue()
		}
		if refused := add(v.GetKey(), value); refused != nil {
			return nil, refused
		}
	}
	return h, nil
}

// bodiless are methods that ask without a body.
var bodiless = map[string]bool{http.MethodGet: true, http.MethodHead: true, http.MethodOptions: true, http.MethodDelete: true, http.MethodTrace: true}

// body is all of the request's body. What may be only some of it is refused.
func body(a *authv3.AttributeContext_HttpRequest, r *http.Request, most int64) ([]byte, *refusal) {
	text := a.GetRawBody()
	if len(text) > 0 && a.GetBody() != "" {
		return nil, refuse(http.StatusBadRequest, "the filter sends the body in two ways")
	}
	if len(text) == 0 {
		text = []byte(a.GetBody())
	}
	if int64(len(text)) > most {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body is over %d bytes", most)
	}
	for _, v := range r.Header.Values(partial) {
		if !strings.EqualFold(strings.TrimSpace(v), "false") {
			return nil, refuse(http.StatusRequestEntityTooLarge, "the filter has cut the body: raise max_request_bytes, and leave allow_partial_message out")
		}
	}
	const unseen = "the filter does not send the whole body: set with_request_body"
	lengths := r.Header.Values("Content-Length")
	switch {
	case len(lengths) > 1:
		return nil, refuse(http.StatusBadRequest, "the request has several lengths")
	case len(lengths) == 1:
		if n, err := strconv.ParseUint(lengths[0], 10, 63); err != nil || n != uint64(len(text)) {
			return nil, refuse(http.StatusRequestEntityTooLarge, unseen)
		}
	case len(text) == 0 && (!bodiless[r.Method] || r.Header.Get("Transfer-Encoding") != "" || mayHide(a, r)):
		return nil, refuse(http.StatusLengthRequired, unseen+", or have the client send Content-Length")
	}
	return text, nil
}

// mayHide reports whether a request that seems to have no body may have one that the filter
// does not show: from HTTP/2 on neither a length nor a coding has to announce it. A server
// that reads what comes with GET or HEAD is none that agents are known to ask.
func mayHide(a *authv3.AttributeContext_HttpRequest, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Header.Get(partial) != "" {
		return false
	}
	return !strings.HasPrefix(a.GetProtocol(), "HTTP/1")
}

// notToken reports whether a character cannot be in a method or a header's name (RFC 9110
// section 5.6.2).
func notToken(c rune) bool {
	return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
}
