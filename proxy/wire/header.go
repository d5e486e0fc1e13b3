package wire

import (
	"net/http"
	"net/textproto"
	"strings"
)

// WriteHeader sends the status and headers of an answer that is passed on. Where the upstream named
// no type none is guessed.
func WriteHeader(w http.ResponseWriter, status int, header http.Header) {
	h := w.Header()
	for k, v := range header {
		h[k] = v
	}
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = nil
	}
	w.WriteHeader(status)
}

// hopByHop are the headers of one connection (RFC 9110 section 7.6.1).
var hopByHop = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// EndToEnd returns the headers without those of one connection, as they go on to
// another.
func EndToEnd(src http.Header) http.Header {
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

// ContentEncoding joins repeated headers, so that a doubled coding is seen as
// the list that it is.
func ContentEncoding(h http.Header) string {
	return strings.Join(h.Values("Content-Encoding"), ",")
}
