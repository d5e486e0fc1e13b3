package app

import (
	"maps"
	"slices"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// credentials say whose each token is: the state folder's is the local
// approver's, and the configuration names the rest.
func (a *App) credentials(s *state) []api.Credential {
	list := []api.Credential{{Person: a.c.Approver, Token: api.HashToken(s.token)}}
	for _, name := range slices.Sorted(maps.Keys(a.c.People)) {
		if p := a.c.People[name]; p.TokenSHA256 != (config.TokenHash{}) {
			list = append(list, api.Credential{Person: string(name), Token: api.TokenHash(p.TokenSHA256)})
		}
	}
	return list
}
