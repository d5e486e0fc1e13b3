package gemini

import (
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// History returns the responses of functions in a request, each with the call
// of the same id that stands before it or, where the calls have none, with the
// oldest one of the name that has no response yet.
func (*Codec) History(request *wire.Document) (wire.History, error) {
	var h wire.History
	if !request.MayHave("functionResponse") && !request.MayHave("function_response") {
		h.Begun = request.MaySay("role", "model")
		return h, nil
	}
	contents := request.Find("contents")
	if inner := request.Find("request"); wire.KindOf(inner) == "an object" && contents == nil {
		contents = wire.Find(inner, "contents")
	}
	var open []wire.Result // calls without a response
	for content, err := range wire.Elements(contents) {
		if err != nil {
			return h, fmt.Errorf("reading contents of a request: %w", err)
		}
		role, _ := wire.Text(wire.Find(content.Value, "role"))
		h.Begun = h.Begun || role == "model"
		parts := wire.Find(content.Value, "parts")
		if wire.KindOf(parts) != "an array" {
			continue
		}
		for part, err := range wire.Elements(parts) {
			if err != nil {
				return h, fmt.Errorf("reading parts of a request: %w", err)
			}
			for m, err := range wire.Members(part.Value) {
				if err != nil {
					return h, fmt.Errorf("reading a part of a request: %w", err)
				}
				switch plainName(string(m.Name)) {
				case memberFunction:
					open = append(open, mentioned(m.Value))
				case "functionresponse":
					var r wire.Result
					r, open = answered(open, mentioned(m.Value))
					r.Ended = wire.EndedIn(!wire.IsNull(wire.Find(wire.Find(m.Value, "response"), "error")))
					h.Results = append(h.Results, r)
				}
			}
		}
	}
	return h, nil
}

// mentioned reads the id, the name and the arguments of a call, or of a response.
func mentioned(value []byte) (r wire.Result) {
	r.ID, _ = wire.TextOrNull(wire.Find(value, "id"))
	r.Tool, _ = wire.Text(wire.Find(value, "name"))
	if args := wire.Find(value, "args"); wire.KindOf(args) == "an object" {
		r.Arguments = args
	}
	return r
}

// answered returns a response with its call, and the calls that are left. Where
// the call has no id, that of the response is the client's own and says nothing.
func answered(open []wire.Result, response wire.Result) (wire.Result, []wire.Result) {
	found := -1
	for i, c := range open {
		if c.Tool != response.Tool || c.ID != "" && c.ID != response.ID {
			continue
		}
		if found < 0 || c.ID != "" {
			found = i
		}
		if c.ID != "" {
			break
		}
	}
	if found < 0 {
		return response, open
	}
	c := open[found]
	if c.Arguments == nil {
		c.Arguments = []byte("{}")
	}
	return c, append(open[:found:found], open[found+1:]...)
}
