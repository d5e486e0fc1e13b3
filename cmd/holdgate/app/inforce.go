package app

import (
	"fmt"
	"os"

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
	queue       approvals.InForce
	tokens      []api.Credential
	agents      *identity.Book
	credentials []*credential.Credential
	routes      []host.Route
}

// makeInForce makes of a configuration and a roster what is to be in force. Nothing has changed
// where it fails.
func (a *App) makeInForce(c config.Config, entries []roster.Entry) (*inForce, error) {
	n := &inForce{c: c, roster: entries}
	var err error
	if n.queue.People, err = peopleWith(c, entries); err != nil {
		return nil, err
	}
	if n.queue.Gates, err = c.Types(); err != nil {
		return nil, err
	}
	n.tokens = tokens(c, entries, a.state.token)
	if err = api.CheckCredentials(n.tokens); err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	if n.agents, err = book(c, a.cluster); err != nil {
		return nil, err
	}
	if n.credentials, err = credentials(c, os.Getenv); err != nil {
		return nil, err
	}
	n.routes, err = routes(c)
	return n, err
}
