package responses

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// History returns the outputs of the client's own tools in a request, each with
// the call of the same id that stands before it.
func (*Codec) History(request *wire.Document) (wire.History, error) {
	h := wire.History{Begun: !wire.IsNull(request.Find("previous_response_id")) || !wire.IsNull(request.Find("conversation"))}
	input := request.Find("input")
	if wire.KindOf(input) != "an array" {
		return h, nil
	}
	results := request.MayHave("call_id")
	calls := make(map[string]wire.Result)
	for e, err := range wire.Elements(input) {
		if err != nil {
			return h, fmt.Errorf("reading the input of a request: %w", err)
		}
		if h.Begun && !results {
			break
		}
		typ, id, role := told(e.Value)
		switch {
		case typ == "message" || typ == "":
			h.Begun = h.Begun || role == "assistant"
		case strings.HasSuffix(typ, "_output") && id != "":
			r := calls[id]
			r.ID, r.Ended = id, ended(typ, e.Value)
			h.Results = append(h.Results, r)
		default:
			h.Begun = true
			if c, ok := pastCall(e.Value); ok {
				calls[c.ID] = c
			}
		}
	}
	return h, nil
}

// told returns what an item says of its type, its call and who wrote it; what it
// does not say in a text is empty.
func told(object []byte) (typ, id, role string) {
	for m, err := range wire.Members(object) {
		if err != nil {
			break
		}
		switch string(m.Name) {
		case "type":
			typ, _ = wire.Text(m.Value)
		case "call_id":
			id, _ = wire.Text(m.Value)
		case "role":
			role, _ = wire.Text(m.Value)
		}
	}
	return typ, id, role
}

// pastCall reads a call in a history; false for an item that is none.
func pastCall(object []byte) (wire.Result, bool) {
	it, err := readItem(object)
	if err != nil || it.kind != kindCall || it.callID == "" {
		return wire.Result{}, false
	}
	r := wire.Result{ID: it.callID, Tool: it.toolName()}
	if call, err := it.call(); err == nil {
		r.Arguments = call.Tool.Arguments
	}
	return r, true
}

// ended reads how a tool of those ended whose outputs say so. The status of any
// other output is that of the item.
func ended(typ string, output []byte) wire.Ended {
	switch typ {
	case "apply_patch_call_output":
		switch status := wire.TextIn(output, "status"); status {
		case "completed":
			return wire.EndedWell
		case "failed":
			return wire.EndedBadly
		}
	case "shell_call_output":
		return endedShell(wire.Find(output, "output"))
	}
	return wire.EndedUnknown
}

// endedShell reads how the commands of one call ended: well where each exited
// with 0.
func endedShell(outputs []byte) wire.Ended {
	all := wire.EndedUnknown
	for e, err := range wire.Elements(outputs) {
		outcome := wire.Find(e.Value, "outcome")
		switch typ := wire.TextIn(outcome, "type"); {
		case err != nil || typ != "exit" && typ != "timeout":
			return wire.EndedUnknown
		case typ == "timeout" || string(wire.Find(outcome, "exit_code")) != "0":
			all = wire.EndedBadly
		case all == wire.EndedUnknown:
			all = wire.EndedWell
		}
	}
	return all
}
