package model

import (
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/trace"
)

// used takes note of what an answer has used that a model has just made. One that was
// stored, here or by the provider, counted when it was made. whole says that it came to its
// end: a client may leave before what is said there.
func (a *answer) used(u holdgate.Usage, whole bool) {
	m := a.Call.Model
	if a.kept || m == nil {
		return
	}
	a.counted = true
	var prices holdgate.Prices
	if of := a.f.c.Prices; of != nil {
		prices = of()
	}
	if u = prices.Of(m.Provider, m.Name, u); !whole {
		u = u.BrokenOff()
	}
	a.x.Used(a.R.Context(), u)
	trace.Used(a.R.Context(), u)
	if told := a.f.c.OnUsed; told != nil {
		told(u)
	}
}

// lost counts an answer of which nothing was understood, for the model has been asked.
func (a *answer) lost() {
	if !a.counted {
		a.used(holdgate.Usage{Answers: 1}, false)
	}
}
