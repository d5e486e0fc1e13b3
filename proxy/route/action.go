package route

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// unreadAction stands for an operation that could not be read: it is no name.
const unreadAction = "?"

// ReadAction is the operation that a request to AWS names besides its path: in
// X-Amz-Target (JSON protocols), or as Action in the query or a form (Query
// protocol). Several that differ are joined, which is no name of any. Of a body
// nothing is taken but what is put back.
func ReadAction(w http.ResponseWriter, r *http.Request, u *url.URL, limit int64) string {
	host := LowerHost(HostOnly(u.Host))
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
	add(r.Header.Values("X-Amz-Target")...)
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		add(unreadAction)
	}
	add(query["Action"]...)
	if HasBody(r) && len(r.Header.Values("X-Amz-Target")) == 0 && strings.Trim(u.Path, "/") == "" {
		form, err := peekForm(w, r, limit)
		if err != nil {
			add(unreadAction)
		}
		add(form["Action"]...)
	}
	return strings.Join(names, ",")
}

// peekForm reads a form of known length, and puts it back.
func peekForm(w http.ResponseWriter, r *http.Request, limit int64) (url.Values, error) {
	if n := r.ContentLength; n < 0 || n > min(PassBuffer, limit) || wire.ContentEncoding(r.Header) != "" {
		return nil, errors.New("its length is not known, or it is too long or compressed")
	}
	body, err := ReadBody(w, r, "", limit)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return url.ParseQuery(string(body))
}
