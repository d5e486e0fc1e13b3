package gemini

import (
	"bytes"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Refused returns what is to be remembered of a call that a notice stands for,
// its thought signature too. It reports false for what is no function call, or
// one whose arguments are no object.
func (*Codec) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	t, ok := p.Tag.(callTag)
	if !ok || p.Call.Tool.Arguments == nil || plainName(t.call.member) != memberFunction {
		return wire.Refused{}, false
	}
	c := t.call
	part := bytes.Clone(c.part)
	if c.partial != nil {
		part = wire.RewriteMembers(part, func(m wire.Member) []byte {
			if string(m.Name) == c.member {
				return slices.Concat([]byte("{"), named(c.id, c.name), []byte(`"args":`), p.Call.Tool.Arguments, []byte("}"))
			}
			return m.Value
		})
	}
	return wire.Refused{Notice: notice, Call: part, ID: c.id, Name: c.name}, true
}

// named returns the members of a function call and of its response that say
// which one it is, each with a comma behind.
func named(id, name string) []byte {
	var b []byte
	if id != "" {
		b = append(wire.AppendText(append(b, `"id":`...), id), ',')
	}
	return append(wire.AppendText(append(b, `"name":`...), name), ',')
}

// Rehydrate puts refused calls back in the place of their notices, and the
// responses that say the notices into the content behind: among its function
// responses or, where it has none, in one of their own before it, for a model's
// turn must be followed by as many responses as it has calls. It returns how
// many. In a request without tools, and in the last turn, a notice stays.
func (*Codec) Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error) {
	refusals := wire.NewRefusals(refused)
	if request := wire.Find(body, "request"); wire.KindOf(request) == "an object" && wire.Find(body, "contents") == nil {
		inner, n, err := rehydrate(request, refusals)
		if err != nil || n == 0 {
			return body, 0, err
		}
		return wire.SetMember(body, "request", inner), n, nil
	}
	return rehydrate(body, refusals)
}

func rehydrate(request []byte, refusals *wire.Refusals) ([]byte, int, error) {
	tools := wire.Find(request, "tools")
	if !bytes.ContainsRune(tools, '{') {
		return request, 0, nil
	}
	return wire.Turns{
		List:    "contents",
		PutBack: func(content, next []byte) ([]byte, []*wire.Refused) { return putBack(content, next, refusals) },
		Answer: func(turn, next []byte, calls []*wire.Refused) (_, _ []byte) {
			if next, ok := withResponses(next, calls); ok {
				return turn, next
			}
			own := slices.Concat([]byte(`,{"role":"user","parts":`), wire.Array(responses(calls)...), []byte("}"))
			return append(turn, own...), nil
		},
	}.Rehydrate(request)
}

// putBack returns a content of the model's with the calls in it whose notices
// its texts have, and the calls.
func putBack(content, next []byte, refusals *wire.Refusals) ([]byte, []*wire.Refused) {
	parts := wire.Find(content, "parts")
	if next == nil || wire.TextIn(content, "role") != "model" || wire.KindOf(parts) != "an array" {
		return nil, nil
	}
	rewritten, passages := refusals.Blocks(parts, func(_ int, part []byte) (string, bool) {
		text, err := wire.Text(wire.Find(part, "text"))
		return text, err == nil && string(wire.Find(part, "thought")) != "true"
	}, func(found []wire.Passage, _ []byte) []byte {
		var out [][]byte
		for _, p := range found {
			if p.Refused != nil {
				out = append(out, p.Refused.Call)
			} else {
				out = append(out, appendPart(nil, p.Text))
			}
		}
		return bytes.Join(out, []byte{','})
	})
	calls := wire.Calls(passages)
	if len(calls) == 0 {
		return nil, nil
	}
	return wire.SetMember(content, "parts", rewritten), calls
}

// responses returns the parts that say that calls were refused.
func responses(calls []*wire.Refused) [][]byte {
	var out [][]byte
	for _, r := range calls {
		b := append([]byte(`{"functionResponse":{`), named(r.ID, r.Name)...)
		b = wire.AppendText(append(b, `"response":{"error":`...), r.Notice)
		out = append(out, append(b, `}}}`...))
	}
	return out
}

// withResponses returns a content with the responses of refused calls in their
// places among its own; false where it has none.
func withResponses(content []byte, calls []*wire.Refused) ([]byte, bool) {
	var list [][]byte
	at := make([]int, 0, len(calls)) // in list, of the responses
	for e, err := range wire.Elements(wire.Find(content, "parts")) {
		if err != nil {
			return nil, false
		}
		for m, err := range wire.Members(e.Value) {
			if err == nil && plainName(string(m.Name)) == "functionresponse" {
				at = append(at, len(list))
			}
		}
		list = append(list, e.Value)
	}
	if len(at) == 0 {
		return nil, false
	}
	for i, part := range responses(calls) {
		place := at[len(at)-1] + 1
		if p := calls[i].Place; p < len(at) {
			place = at[p]
		}
		list = slices.Insert(list, place, part)
		for j := range at {
			if at[j] >= place {
				at[j]++
			}
		}
		at = slices.Insert(at, min(calls[i].Place, len(at)), place)
	}
	return wire.SetMember(content, "parts", wire.Array(list...)), true
}
