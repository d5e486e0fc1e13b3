package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// hopByHop are the headers of one connection (RFC 9110 section 7.6.1).
var hopByHop = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func copyHeader(src http.Header) http.Header {
	h := src.Clone()
	for _, v := range src.Values("Connection") {
		for _, name := range strings.Split(v, ",") {
			if name = textproto.TrimString(name); name != "" {
				h.Del(name)
			}
		}
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
	return h
}

// send sends a request whose body has been read: what was judged is what goes.
// On gated formats no compression is asked for.
func (s *Server) send(ctx context.Context, r *http.Request, t target, body []byte) (*http.Response, error) {
	req := &http.Request{
		Method: r.Method, URL: t.url, Host: t.url.Host, Header: copyHeader(r.Header),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)),
	}
	req.Header.Del("Content-Encoding")
	req.Header.Del("Content-Length")
	req.Header.Set("Accept-Encoding", "identity")
	if len(body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	if _, ok := req.Header["User-Agent"]; !ok {
		req.Header["User-Agent"] = nil // no name of ours where the client gave none
	}
	return s.transportFor(t).RoundTrip(req.WithContext(ctx))
}

// decoded returns a response's body decoded as it streams, at most limit
// bytes of it, and takes the headers away that no longer hold.
func decoded(resp *http.Response, limit int64) (io.Reader, error) {
	enc := contentEncoding(resp.Header)
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

func isEventStream(h http.Header) bool {
	ct, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(ct), "text/event-stream")
}
