package app

import (
	"fmt"
	"os"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/roster"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/proxy/identity"
)

// inForce is what the sidecar goes by and what can be replaced while it runs. It
// never changes and is replaced as a whole, behind one pointer: whoever needs it
// loads it once for each request, call or change of state.
type inForce struct {
	c           config.Config  // that it was made of
	roster      []roster.Entry // what people have changed of its people
	signed      []signed       // in at the provider
	queue       approvals.InForce
	tokens      []api.Credential
	agents      *identity.Book
	credentials []*credential.Credential
	routes      []host.Route
	prices      holdgate.Prices
}

// makeInForce makes of a configuration and a roster what is to be in force. Nothing has changed
// where it fails.
func (a *App) makeInForce(c config.Config, entries []roster.Entry, in []signed) (*inForce, error) {
	n, err := (&inForce{c: c}).withPeople(a, entries, in)
	if err != nil {
		return nil, err
	}
	if n.queue.Gates, err = c.Types(); err != nil {
		return nil, err
	}
	n.prices = c.Prices.Table()
	n.queue.Limits = approvals.Limits{Pending: c.Limits.Pending, HeldBytes: int64(c.Limits.HeldBytes)}
	if n.agents, err = book(c, a.cluster); err != nil {
		return nil, err
	}
	if n.credentials, err = credentials(c, os.Getenv); err != nil {
		return nil, err
	}
	n.routes, err = routes(c)
	return n, err
}

// withPeople is the same with other people. Everything else stays as it is, and is not read
// again: a credential whose file has gone keeps nobody from being removed.
func (n *inForce) withPeople(a *App, entries []roster.Entry, in []signed) (*inForce, error) {
	next := *n
	next.roster, next.signed = entries, in
	everybody, tokens, err := known(n.c, entries, in)
	if err != nil {
		return nil, err
	}
	a.heardOf.hear(everybody.All(), in)
	next.queue.People = everybody
	// The state folder's token is the local approver's.
	next.tokens = append([]api.Credential{{Person: n.c.Approver, Token: api.HashToken(a.state.token)}}, tokens...)
	if err := api.CheckCredentials(next.tokens); err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	return &next, nil
}
