package model

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A refusedRecord is what the queue keeps of a refused call for the agent's
// next requests.
type refusedRecord struct {
	Format string `json:"format"`
	// Answered says of a call in a conversation that the provider has its result.
	Answered bool `json:"answered,omitempty"`
	wire.Refused
}

// remember keeps what was refused of these items, before the client can see
// that it was. Where that fails the notices stay what they are in later
// requests.
func (a *answer) remember(items []item) {
	a.became(items)
	codec, ok := a.Target.Codec.(route.Rehydrator)
	if !ok || a.f.c.NoRehydrate || signed(a.R.Header) {
		return
	}
	var records []refusedRecord
	for _, it := range items {
		if it.q == nil || it.q.Released() {
			continue
		}
		r, ok := codec.Refused(it.part, it.q.Verdict().Notice)
		if !ok {
			continue
		}
		r.Place = it.q.Call.Position
		r.Conversation = cmp.Or(r.Conversation, a.Conversation)
		records = append(records, refusedRecord{Refused: r})
	}
	a.write(records)
}

// write puts records into the queue. All of them are of one answer.
func (a *answer) write(records []refusedRecord) {
	if len(records) == 0 {
		return
	}
	var all [][]byte
	for _, r := range records {
		r.Format = a.Target.Codec.Name()
		b, err := json.Marshal(r)
		if err != nil {
			a.f.c.Logger.ErrorContext(a.R.Context(), "remembering a refused call", "err", err)
			continue
		}
		all = append(all, b)
	}
	from := a.From()
	from.InConversation(records[0].Conversation) // an answer that is fetched may show it only now
	if err := a.f.c.Queue.Refusals.Keep(a.f.c.Life, from.Caller, a.Account(), all); err != nil {
		a.f.c.Logger.ErrorContext(a.R.Context(), "remembering refused calls", "err", err)
	}
}

// rehydrate puts what was refused before back into the request, as it will be
// sent. What is signed over its body stays as it is, and so does what cannot
// be read: the notices in it say the same.
func (e *exchange) rehydrate(ctx context.Context) {
	codec, ok := e.Target.Codec.(route.Rehydrator)
	if !ok || e.f.c.NoRehydrate || len(e.Body) == 0 || signed(e.R.Header) {
		return
	}
	refused, err := e.refused(ctx)
	if err != nil || len(refused) == 0 {
		if err != nil {
			e.f.c.Logger.ErrorContext(ctx, "reading what was refused before", "err", err)
		}
		return
	}
	body, n, err := codec.Rehydrate(e.Body, refused)
	if err == nil && n > 0 {
		err = wire.Strict(body)
	}
	if err != nil {
		e.f.c.Logger.ErrorContext(ctx, "putting refused calls back into a request", "err", err)
		return
	}
	e.answers = waitingIn(e.Conversation, refused)
	if n > 0 {
		e.sent, e.Remark = body, gate.Remarks(e.Remark, fmt.Sprintf("rehydrated %d %s", n, plural(n, "refusal")))
	}
}

// refused returns what was refused in the session on this account, in the
// format spoken.
func (e *exchange) refused(ctx context.Context) ([]wire.Refused, error) {
	records, err := e.f.c.Queue.Refusals.Of(ctx, e.Target.Caller, e.Account())
	if err != nil {
		return nil, err
	}
	var out []wire.Refused
	answered := make(map[conversed]bool)
	for _, b := range records {
		var r refusedRecord
		if err := json.Unmarshal(b, &r); err != nil {
			return nil, fmt.Errorf("reading a refused call: %w", err)
		}
		switch {
		case r.Format != e.Target.Codec.Name():
		case r.Answered:
			answered[conversedOf(r.Refused)] = true
		default:
			out = append(out, r.Refused)
		}
	}
	for i := range out {
		if answered[conversedOf(out[i])] {
			out[i].Conversation = ""
		}
		out[i].Owed = e.Conversation != "" && out[i].Conversation == e.Conversation
	}
	return out, nil
}

// signed reports whether a request is signed over its body, so that no other
// body would be taken: AWS Signature Version 4, and digests of RFC 9530.
func signed(h http.Header) bool {
	for _, name := range []string{"X-Amz-Content-Sha256", "Content-Digest", "Repr-Digest", "Digest", "Content-Md5"} {
		if len(h[name]) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(h["Authorization"], func(v string) bool { return strings.HasPrefix(v, "AWS4-") })
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
