package interactions

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Refused returns what is to be remembered of a call that a notice stands for. It
// reports false for one whose arguments are no object.
func (*Codec) Refused(p wire.Part, notice string) (wire.Refused, bool) {
	t, ok := p.Tag.(callTag)
	if !ok || p.Observed || p.Call.Tool.Arguments == nil {
		return wire.Refused{}, false
	}
	return wire.Refused{Notice: notice, Call: bytes.Clone(t.step.whole()), ID: t.step.id, Name: t.step.name, Response: t.interaction}, true
}

// Rehydrate puts refused calls back in the place of the steps that are their notices, each
// with a result that says the notice. Where the request names an interaction that the
// provider keeps, the results of what was refused there come first: the provider has the
// calls. It returns how many calls have a result now. A notice stays in a step that says
// something else too, and beside a call of the same id.
func (*Codec) Rehydrate(body []byte, refused []wire.Refused) ([]byte, int, error) {
	list, err := inputSteps(wire.Find(body, "input"))
	if err != nil {
		return nil, 0, err
	}
	ids := make(map[string]bool)
	for _, s := range list {
		for _, name := range []string{"id", "call_id"} {
			if id := wire.TextIn(s, name); id != "" {
				ids[id] = true
			}
		}
	}
	refusals := wire.NewRefusals(refused)
	var steps [][]byte
	count := 0
	for _, s := range list {
		calls := refusals.Take(noticeIn(s, refusals), ids)
		for _, r := range calls {
			steps = append(steps, r.Call, result(r))
		}
		if len(calls) == 0 {
			steps = append(steps, s)
		}
		count += len(calls)
	}
	owed := owedResults(body, refused, ids)
	if count += len(owed); count == 0 {
		return body, 0, nil
	}
	return wire.SetMember(body, "input", wire.Array(append(owed, steps...)...)), count, nil
}

// noticeIn returns what a step of the model's was cut into, where it says nothing but
// notices.
func noticeIn(s []byte, refusals *wire.Refusals) []wire.Passage {
	if wire.TextIn(s, "type") != modelOutput {
		return nil
	}
	var texts []string
	err := wire.EachElement(wire.Find(s, "content"), func(content []byte) error {
		text, err := wire.Text(wire.Find(content, "text"))
		texts = append(texts, text)
		return err
	})
	if err != nil {
		return nil
	}
	found := refusals.Split(strings.Join(texts, wire.Apart))
	if wire.TextLeft(found) != "" {
		refusals.Restore(found)
		return nil
	}
	return found
}

// owedResults returns the results for which the provider waits in the interaction that a
// request goes on from. A request that takes up an answer where it was cut off has none.
func owedResults(body []byte, refused []wire.Refused, ids map[string]bool) (results [][]byte) {
	previous := wire.TextIn(body, "previous_interaction_id")
	if previous == "" || !wire.IsEmpty(wire.Find(body, "continuation_token")) {
		return nil
	}
	refused = slices.Clone(refused)
	slices.SortStableFunc(refused, func(a, b wire.Refused) int { return a.Place - b.Place })
	for i := range refused {
		if r := &refused[i]; r.Response == previous && !ids[r.ID] {
			ids[r.ID] = true
			results = append(results, result(r))
		}
	}
	return results
}

// result returns the step that says that a call was refused.
func result(r *wire.Refused) []byte {
	return []byte(`{"type":"` + functionResult + `","call_id":` + wire.Quote(r.ID) + `,"name":` + wire.Quote(r.Name) + `,"is_error":true,"result":` + wire.Quote(r.Notice) + `}`)
}

// History returns the results of tools in a request, each with the call of the same id
// that stands before it.
func (*Codec) History(request *wire.Document) (wire.History, error) {
	var h wire.History
	input := request.Find("input")
	h.Begun = !wire.IsEmpty(request.Find("previous_interaction_id"))
	if wire.KindOf(input) != "an array" {
		return h, nil
	}
	calls := make(map[string]wire.Result)
	err := wire.EachElement(input, func(object []byte) error {
		switch wire.TextIn(object, "type") {
		case functionCall:
			h.Begun = true
			s, err := readStep(object)
			if err != nil {
				return err
			}
			made := wire.Result{ID: s.id, Tool: s.name}
			if seen, err := s.seen(); err == nil {
				made.Arguments = seen.Tool.Arguments
			}
			calls[s.id] = made
		case functionResult:
			h.Begun = true
			id := wire.TextIn(object, "call_id")
			r := calls[id]
			if r.ID = id; r.Tool == "" {
				r.Tool = wire.TextIn(object, "name")
			}
			r.Ended = wire.EndedIn(string(wire.Find(object, "is_error")) == "true")
			h.Results = append(h.Results, r)
		case modelOutput:
			h.Begun = true
		}
		return nil
	})
	if err != nil {
		return h, fmt.Errorf("reading the input of a request: %w", err)
	}
	return h, nil
}
