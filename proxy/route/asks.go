package route

import (
	"bytes"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Ungated is why a request for a path of a model API is refused.
func Ungated(path string) string {
	return "this model API is not gated yet, so its tool calls would go unseen: " + path +
		" (`unsupported: allow` in the configuration lets such requests through)"
}

// asksModel reports whether a JSON body, or one in a list of them, asks a model
// for an answer, by the members that model APIs have for what they are told. The
// endpoints of such APIs that answer with numbers, sounds or images hold no calls. It
// fails where the body is JSON to lenient parsers at most.
func asksModel(path string, body []byte) (asks bool, err error) {
	if harmless(path) {
		return false, nil
	}
	body = bytes.TrimLeft(body, wire.Blanks)
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

// namesModel reports whether a JSON body on a host that is not known to serve
// models names one, besides what a model is told.
func namesModel(body []byte) bool {
	for m, err := range wire.Members(bytes.TrimLeft(body, wire.Blanks)) {
		if err != nil {
			return false
		}
		if strings.EqualFold(string(m.Name), "model") && wire.KindOf(m.Value) == "a string" {
			return true
		}
	}
	return false
}
