package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// unreadAction stands for an operation that could not be read: it is no name.
const unreadAction = "?"

// readAction is the operation that a request to AWS names besides its path: in
// X-Amz-Target (JSON protocols), or as Action in the query or a form (Query
// protocol). Several that differ are joined, which is no name of any. Of a body
// nothing is taken but what is put back.
func (e *exchange) readAction() string {
	host := route.LowerHost(route.HostOnly(e.t.url.Host))
	if !strings.HasSuffix(host, ".amazonaws.com") {
		return ""
	}
	var names []string
	add := func(values ...string) {
		for _, v := range values {
			if !slices.Contains(names, v) {
				names = append(names, v)
			}
		}
	}
	add(e.r.Header.Values("X-Amz-Target")...)
	query, err := url.ParseQuery(e.t.url.RawQuery)
	if err != nil {
		add(unreadAction)
	}
	add(query["Action"]...)
	if hasBody(e.r) && len(e.r.Header.Values("X-Amz-Target")) == 0 && strings.Trim(e.t.url.Path, "/") == "" {
		form, err := e.peekForm()
		if err != nil {
			add(unreadAction)
		}
		add(form["Action"]...)
	}
	return strings.Join(names, ",")
}

// peekForm reads a form of known length, and puts it back.
func (e *exchange) peekForm() (url.Values, error) {
	if n := e.r.ContentLength; n < 0 || n > min(passBuffer, e.s.c.Limits.Body) || wire.ContentEncoding(e.r.Header) != "" {
		return nil, errors.New("its length is not known, or it is too long or compressed")
	}
	body, err := e.readBody("")
	if err != nil {
		return nil, err
	}
	e.r.Body = io.NopCloser(bytes.NewReader(body))
	return url.ParseQuery(string(body))
}
