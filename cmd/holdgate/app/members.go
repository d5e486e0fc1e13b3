package app

import (
	"context"
	"encoding/json"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/store/postgres"
)

// about is what a member says of itself to the others.
type about struct {
	Version string `json:"version"`
	Policy  string `json:"policy,omitempty"`
	Held    int    `json:"held,omitempty"`
}

// about is asked by the store, from when this member stands by.
func (a *App) about() []byte {
	m := about{Version: a.o.Version}
	if a.built.Load() {
		m.Policy, m.Held = a.engine.Loaded().Revision, a.queue.Pending()
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // a struct of strings and numbers
	}
	return text
}

// members is what lists the members of the store, nil where nobody can share it.
func (a *App) members() func(context.Context) ([]api.Member, error) {
	st, ok := a.store.(*postgres.Store)
	if !ok {
		return nil
	}
	return func(ctx context.Context) ([]api.Member, error) {
		list, err := st.Members(ctx)
		if err != nil {
			return nil, err
		}
		out := make([]api.Member, 0, len(list))
		for _, m := range list {
			var said about
			_ = json.Unmarshal(m.About, &said) // a newer member may say it in another way
			one := api.Member{Name: m.Name, State: api.MemberStands, Version: said.Version, Policy: said.Policy, Held: said.Held, Started: m.Started, Seen: m.Seen}
			switch {
			case m.Works:
				one.State = api.MemberWorks
			case m.Gone:
				one.State = api.MemberGone
			}
			out = append(out, one)
		}
		return out, nil
	}
}
