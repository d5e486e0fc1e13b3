package wire

import (
	"fmt"
	"slices"
)

// Turns is how a format has calls, and the results of calls, in the messages of its
// requests. Results are messages of their own, which Result makes, or stand in the
// message behind the calls, where Answer puts them.
type Turns struct {
	// List is the member of the request that has the messages.
	List string
	// PutBack returns a message with the calls in it whose notices the message has,
	// and these calls. It returns no calls where the message stays as it is. next
	// is the message behind, or nil.
	PutBack func(message, next []byte) ([]byte, []*Refused)

	// IsResult reports whether a message is the result of a call.
	IsResult func(message []byte) bool
	// Result returns the message that says that a call was refused.
	Result func(r *Refused) []byte

	// Answer returns a message with calls, and the message behind it, with the
	// results of the refused calls in either.
	Answer func(message, next []byte, calls []*Refused) (_, _ []byte)
}

// Rehydrate puts refused calls back into a request, each with a result, and returns how
// many. All else keeps its bytes.
func (t Turns) Rehydrate(request []byte) (_ []byte, n int, err error) {
	messages := Find(request, t.List)
	list, err := List(messages)
	if err != nil {
		return nil, 0, fmt.Errorf("reading %s of a request: %w", t.List, err)
	}
	edits := make([][]byte, len(list)+1)
	for i, message := range list {
		var next []byte
		if i+1 < len(list) {
			next = list[i+1]
		} else if t.Answer != nil {
			break
		}
		turn, calls := t.PutBack(message, next)
		switch n += len(calls); {
		case len(calls) == 0:
		case t.Answer != nil:
			edits[i], edits[i+1] = t.Answer(turn, next, calls)
		default:
			edits[i] = turn
			t.addResults(list, edits, i, calls)
		}
	}
	if n == 0 {
		return request, 0, nil
	}
	return EditMember(request, t.List, func([]byte) []byte {
		return RewriteElements(messages, func(i int, own []byte) []byte { return orOwn(edits[i], own) })
	}), n, nil
}

// addResults puts the results of calls behind message i: each in its place among the
// results that follow the message.
func (t Turns) addResults(list, edits [][]byte, i int, calls []*Refused) {
	last := i
	for last+1 < len(list) && t.IsResult(list[last+1]) {
		last++
	}
	for n, r := range calls {
		at := min(i+max(r.Place-n, 0), last)
		edits[at] = slices.Concat(orOwn(edits[at], list[at]), []byte{','}, t.Result(r))
	}
}

func orOwn(edit, own []byte) []byte {
	if edit != nil {
		return edit
	}
	return own
}

// Take returns the calls of passages. Where the request has a call of the same id
// already, or two of them have one, it returns none and gives the notices back. The
// ids that were taken are added to ids.
func (f *Refusals) Take(passages []Passage, ids map[string]bool) []*Refused {
	calls := Calls(passages)
	for n, r := range calls {
		if r.ID != "" && ids[r.ID] {
			for _, own := range calls[:n] {
				delete(ids, own.ID)
			}
			f.Restore(passages)
			return nil
		}
		ids[r.ID] = true
	}
	return calls
}

// Blocks goes through an array of blocks, of which text tells those in which a
// notice counts. What instead makes of the passages of such a block takes the place of
// the block; nil takes it away.
func (f *Refusals) Blocks(array []byte, text func(n int, block []byte) (string, bool), instead func(found []Passage, of []byte) []byte) ([]byte, []Passage) {
	var all []Passage
	out := RewriteElements(array, func(n int, block []byte) []byte {
		words, ok := text(n, block)
		if !ok {
			return block
		}
		found := f.Split(words)
		if found == nil {
			return block
		}
		all = append(all, found...)
		return instead(found, block)
	})
	return out, all
}

// Beside returns an assistant's message with the calls in it whose notices its content
// has, and these calls, for formats that have calls beside the content, in tool_calls.
// The content is a text, or blocks of which some have the type text. Where nothing else
// is in it, empty takes its place; nil takes it away.
func (f *Refusals) Beside(message, empty []byte) ([]byte, []*Refused) {
	if TextIn(message, "role") != "assistant" {
		return nil, nil
	}
	content, passages := f.contentWithout(Find(message, "content"), empty)
	if passages == nil {
		return nil, nil
	}
	own, err := List(Find(message, "tool_calls"))
	ids := make(map[string]bool, len(own))
	for _, call := range own {
		ids[TextIn(call, "id")] = true
	}
	calls := f.Take(passages, ids)
	if err != nil {
		f.Restore(passages)
		return nil, nil
	}
	for _, r := range calls {
		own = slices.Insert(own, min(r.Place, len(own)), r.Call)
	}
	if len(calls) == 0 {
		return nil, nil
	}
	return SetMember(EditMember(message, "content", func([]byte) []byte { return content }), "tool_calls", Array(own...)), calls
}

// contentWithout returns a content without the notices in it, and what it was cut into.
func (f *Refusals) contentWithout(content, empty []byte) (_ []byte, passages []Passage) {
	switch KindOf(content) {
	case "a string":
		text, err := Text(content)
		if err != nil {
			return nil, nil
		}
		passages = f.Split(text)
		if left := TextLeft(passages); left != "" {
			return AppendText(nil, left), passages
		}
		return empty, passages
	case "an array":
		content, passages = f.Blocks(content, func(_ int, block []byte) (string, bool) {
			text, err := Text(Find(block, "text"))
			return text, err == nil && TextIn(block, "type") == "text"
		}, func(found []Passage, of []byte) []byte {
			if left := TextLeft(found); left != "" {
				return SetMember(of, "text", AppendText(nil, left))
			}
			return nil
		})
		if IsEmpty(content) {
			content = empty
		}
	}
	return content, passages
}

// TextLeft joins the texts of passages.
func TextLeft(passages []Passage) (text string) {
	for _, p := range passages {
		if p.Refused == nil && text != "" {
			text += Apart
		}
		text += p.Text
	}
	return text
}
