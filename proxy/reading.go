package proxy

import (
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// read reads the request's body, whole, decoded and checked. It is what will be
// judged and what will be sent: from here on there is no other copy.
func (e *exchange) read() (*wire.Document, *route.Refusal) {
	body, document, refused := route.ReadRequest(e.w, e.r, e.s.c.Limits.Body)
	if refused != nil {
		return nil, refused
	}
	e.body = body
	return document, nil
}

// readBody reads a body of at most Limits.Body decoded bytes.
func (e *exchange) readBody(encoding string) ([]byte, error) {
	return route.ReadBody(e.w, e.r, encoding, e.s.c.Limits.Body)
}
