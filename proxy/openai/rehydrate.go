package openai

import "github.com/holdgate/holdgate/proxy/wire"

// Refused returns what is to be remembered of a call that a notice stands for.
// It reports false where no request could have the call in its history with a
// result of its own: a function_call, and a call without an id.
func (*Codec) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	t, ok := p.Tag.(callTag)
	if !ok || t.call.legacy || t.call.id == "" {
		return wire.Refused{}, false
	}
	k := *t.call
	k.verdict.Arguments = nil // the agent's own stand in its history
	return wire.Refused{Notice: notice, Call: k.appendElement(nil, -1), ID: k.id, Name: k.name}, true
}

// Rehydrate puts refused calls back in the place of their notices, and a tool
// message that says the notice behind, each in its place among the calls and
// the tool messages of the turn. It returns how many. In a request without
// tools, and beside another call of the same id in the turn, a notice stays.
func (*Codec) Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error) {
	if tools := wire.Find(body, "tools"); wire.IsEmpty(tools) {
		return body, 0, nil
	}
	refusals := wire.NewRefusals(refused)
	return wire.Turns{
		List:     "messages",
		PutBack:  func(message, _ []byte) ([]byte, []*wire.Refused) { return refusals.Beside(message, []byte("null")) },
		IsResult: func(message []byte) bool { return wire.TextIn(message, "role") == "tool" },
		Result:   result,
	}.Rehydrate(body)
}

// result returns the tool message that says that a call was refused.
func result(r *wire.Refused) []byte {
	return []byte(`{"role":"tool","tool_call_id":` + wire.Quote(r.ID) + `,"content":` + wire.Quote(r.Notice) + `}`)
}
