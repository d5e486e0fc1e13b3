package steps

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// Whose account a request to a model's host is made on, as policy is told.
const (
	AccountOwn = "own" // that of the run, or one that people have let it use
	AccountNew = "new" // another: what the request carries, its holder can read
)

// accounts are those that agents ask models on, as far as [holdgate.Proofs] says that
// they are told apart. The first of a run is its own: nothing but the agent itself has
// run by then. The zero value is ready.
type accounts struct {
	mu sync.Mutex
	of map[string]map[holdgate.Digest]bool // by agent
}

// kind says whose account it is, and takes the first one for the agent's own.
func (a *accounts) kind(agent string, account holdgate.Digest) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.of[agent]) == 0 {
		a.add(agent, account)
	}
	if a.of[agent][account] {
		return AccountOwn
	}
	return AccountNew
}

func (a *accounts) tie(agent string, account holdgate.Digest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(agent, account)
}

func (a *accounts) add(agent string, account holdgate.Digest) {
	if a.of == nil {
		a.of = map[string]map[holdgate.Digest]bool{}
	}
	if a.of[agent] == nil {
		a.of[agent] = map[holdgate.Digest]bool{}
	}
	a.of[agent][account] = true
}

// ForgetAccounts is for when a run has ended: its agent's name may be another's next.
func (s *Steps) ForgetAccounts(agent string) {
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	delete(s.accounts.of, agent)
}

// WithAccount finds out on whose account the request is made. It is for requests to hosts
// that may serve models.
func (e *Exchange) WithAccount() {
	agent := e.Target.Caller.Agent
	if !agent.Keys {
		return
	}
	if e.Target.Credential != "" {
		e.Target.Account = AccountOwn // what Holdgate puts in takes the place of what was sent
		return
	}
	if account, ok := e.account(); ok {
		e.Target.Account = e.Steps.accounts.kind(agent.ID, account)
	}
}

// tieAccount is for when people have let the request go on.
func (e *Exchange) tieAccount() {
	if account, ok := e.account(); ok && e.Target.Account == AccountNew {
		e.Steps.accounts.tie(e.Target.Caller.Agent.ID, account)
	}
}

// accountParams are what providers take a key by in the query.
var accountParams = []string{"key", "api_key", "api-key", "access_token", "x-amz-credential"}

// account names the account at its host, and reports whether the request shows one.
func (e *Exchange) account() (holdgate.Digest, bool) {
	fields := []string{upstream.Origin(e.Target.URL)}
	for _, name := range upstream.CredentialHeaders {
		for _, v := range e.R.Header.Values(name) {
			fields = append(fields, strings.ToLower(name), signer(v))
		}
	}
	query := e.Target.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if param := strings.ToLower(name); slices.Contains(accountParams, param) {
			fields = append(fields, append([]string{param}, query[name]...)...)
		}
	}
	if len(fields) == 1 {
		for _, v := range e.R.Header.Values("Cookie") {
			fields = append(fields, "cookie", v)
		}
	}
	return e.Steps.Digester.Fields("account", fields...), len(fields) > 1
}
