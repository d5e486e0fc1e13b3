package upstream

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Outgoing is a client's request as it goes to a URL. Its body is the caller's to
// set; it is at hand, so nobody is asked to expect it.
func Outgoing(r *http.Request, to *url.URL) *http.Request {
	req := &http.Request{
		Method: r.Method, URL: to, Host: to.Host, Header: wire.EndToEnd(r.Header),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	req.Header.Del("Expect")
	onceOnly(req.Header)
	if _, ok := req.Header["User-Agent"]; !ok {
		req.Header["User-Agent"] = nil // no name of ours where the client gave none
	}
	return req
}

// onceOnly keeps net/http from sending a request twice by itself. Under these
// names, spelled so, a header makes it believe that it may where a connection
// broke and the server has perhaps read the request; an approval is for one.
func onceOnly(h http.Header) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if v, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = v // the same to servers
		}
	}
}

// Carry gives a request a body that can be sent again, where a connection that
// was kept turns out to be closed.
func Carry(req *http.Request, body []byte) {
	req.ContentLength = int64(len(body))
	if len(body) == 0 {
		return
	}
	req.GetBody = func() (io.ReadCloser, error) { return bodyToSend(body), nil }
	req.Body = bodyToSend(body)
}

// Decoded returns a response's body decoded as it streams, at most limit
// bytes of it, and takes the headers away that no longer hold.
func Decoded(resp *http.Response, limit int64) (io.Reader, error) {
	enc := wire.ContentEncoding(resp.Header)
	d, err := wire.Decode(resp.Body, enc, limit)
	if err != nil {
		return nil, err
	}
	if enc != "" {
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
	}
	return d, nil
}
