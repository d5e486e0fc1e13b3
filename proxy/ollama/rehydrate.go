package ollama

import (
	"bytes"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Refused returns what is to be remembered of a call that a notice stands for.
// It reports false for one of generate, whose requests have no history, and
// for one whose arguments are no object.
func (*Codec) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	t, ok := p.Tag.(callTag)
	if !ok || !t.line.reply.chat || p.Call.Tool.Arguments == nil {
		return wire.Refused{}, false
	}
	return wire.Refused{Notice: notice, Call: bytes.Clone(t.call.raw), ID: t.call.id, Name: t.call.name}, true
}

// Rehydrate puts refused calls back in the place of their notices, and a
// message of the tool that says the notice behind, each in its place among the
// calls and the tools' messages of the turn. It returns how many. In a request
// without tools a notice stays.
func (*Codec) Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error) {
	if wire.IsEmpty(wire.Find(body, "tools")) {
		return body, 0, nil
	}
	refusals := wire.NewRefusals(refused)
	return wire.Turns{
		List: "messages",
		PutBack: func(message, _ []byte) ([]byte, []*wire.Refused) {
			if wire.KindOf(wire.Find(message, "content")) != "a string" || wire.Known(message, "tool_calls") != nil {
				return nil, nil
			}
			return refusals.Beside(message, []byte(`""`))
		},
		IsResult: func(message []byte) bool { return wire.TextIn(message, "role") == "tool" },
		Result:   result,
	}.Rehydrate(body)
}

// result returns the tool's message that says that a call was refused.
func result(r *wire.Refused) []byte {
	m := wire.AppendText([]byte(`{"role":"tool","tool_name":`), r.Name)
	if r.ID != "" {
		m = wire.AppendText(append(m, `,"tool_call_id":`...), r.ID)
	}
	return append(wire.AppendText(append(m, `,"content":`...), r.Notice), '}')
}
