package model

import (
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/trace"
)

// used takes note of what an answer has used that a model has just made. One that was
// stored, here or by the provider, counted when it was made.
func (a *answer) used(u holdgate.Usage) {
	m := a.Call.Model
	if a.kept || m == nil {
		return
	}
	var prices holdgate.Prices
	if of := a.f.c.Prices; of != nil {
		prices = of()
	}
	u = prices.Of(m.Provider, m.Name, u)
	a.x.Used(a.R.Context(), u)
	trace.Used(a.R.Context(), u)
	if told := a.f.c.OnUsed; told != nil {
		told(u)
	}
}
