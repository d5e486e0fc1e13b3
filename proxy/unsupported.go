package proxy

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// refuseUnsupported refuses a request. Clients that are refused another
// protocol with this status (RFC 9110, section 15.5.22) fall back to HTTP.
func (s *Server) refuseUnsupported(w http.ResponseWriter, r *http.Request, t target, why string) {
	status := http.StatusBadRequest
	if upgrades(r) {
		status = http.StatusUpgradeRequired
		w.Header().Set("Upgrade", "HTTP/1.1")
		w.Header().Set("Connection", "Upgrade")
	}
	s.refuse(w, r, t, status, holdgate.RuleUnsupported, why)
}

// unread takes a model request whose answer no codec could read: it is refused,
// or goes on as a request of no known format where the configuration lets such
// through.
func (e *exchange) unread(why *readError) {
	if !e.s.c.AllowUnsupported {
		e.reject(http.StatusBadRequest, holdgate.RuleUnsupported, why.Error()+" (`unsupported: allow` in the configuration lets such requests through)")
		return
	}
	e.found(why.Error())
	e.t.codec = nil
	e.r.Header.Del("Content-Encoding")
	e.r.Body, e.r.ContentLength = io.NopCloser(bytes.NewReader(e.body)), int64(len(e.body))
	e.pass()
}

func ungated(path string) string {
	return "this model API is not gated yet, so its tool calls would go unseen: " + path +
		" (`unsupported: allow` in the configuration lets such requests through)"
}

// asksModel reports whether a JSON body, or one in a list of them, asks a model
// for an answer, by the members that model APIs have for what they are told. The
// roads of such APIs that answer with numbers, sounds or images hold no calls. It
// fails where the body is JSON to lenient parsers at most.
func asksModel(path string, body []byte) (asks bool, err error) {
	if harmless(path) {
		return false, nil
	}
	body = bytes.TrimLeft(body, blanks)
	told := []string{"messages", "input", "contents", "prompt"}
	if completes(path) {
		told = []string{"messages", "input", "contents", "tools", "functions"}
	}
	switch wire.KindOf(body) {
	case "nothing":
		return false, nil
	case "an array":
		err = wire.EachElement(body, func(value []byte) error {
			if wire.KindOf(value) != "an object" {
				return nil
			}
			has, err := hasMember(value, told)
			asks = asks || has
			return err
		})
	default:
		asks, err = hasMember(body, told)
	}
	if asks || err != nil {
		return asks, err
	}
	return false, wire.Strict(body)
}

// hasMember reports whether an object has a member of one of these names, in any
// case.
func hasMember(object []byte, names []string) (bool, error) {
	for m, err := range wire.Members(object) {
		if err != nil {
			return false, err
		}
		for _, name := range names {
			if strings.EqualFold(string(m.Name), name) {
				return true, nil
			}
		}
	}
	return false, nil
}
