package model

import (
	"github.com/holdgate/holdgate/proxy/route"
)

// became notes what became of the calls of these items, before the client can see
// it.
func (a *answer) became(items []item) {
	for _, it := range items {
		if it.q != nil {
			a.x.Became(it.part.Call, it.q)
		}
	}
}

// match looks for results in the request of calls that were not let go on.
func (e *exchange) match() {
	codec, ok := e.Target.Codec.(route.Historian)
	m := e.Call.Model
	if !ok || m == nil || e.JSON == nil || e.round > 0 {
		return
	}
	h, err := codec.History(e.JSON)
	if err != nil {
		e.f.c.Logger.DebugContext(e.R.Context(), "reading the results in a request", "err", err)
		return
	}
	h.Begun = h.Begun || e.Conversation != ""
	if len(m.Tools) == 0 && len(h.Results) == 0 {
		return // made on the side: it says nothing of when the session began
	}
	e.x.Shown(e.R.Context(), m, h)
}
