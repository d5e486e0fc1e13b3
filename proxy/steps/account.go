package steps

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// Whose account a request to a model's host is made on, as policy is told.
const (
	AccountOwn = "own" // that of the run, or one that people have let it use
	AccountNew = "new" // another: what the request carries, its holder can read
)

// accounts are those that agents ask models on, as far as [holdgate.Proofs] says that
// they are told apart. A run whose key Holdgate puts in, or that asks a named upstream
// without one, has its own; of any other the first key is its own. A known provider answers
// nobody without a key: there it is in a place that is not known. The zero value is ready.
type accounts struct {
	mu sync.Mutex
	of map[string]map[holdgate.Digest]bool // by agent; empty where its own is none that it shows
}

// An account is a key, at a host or wherever the configuration names an upstream: nobody
// else holds the run's own key there. Without a key it is whoever serves the host.
type account struct {
	here, anywhere holdgate.Digest
	key            bool
}

// needsNone notes that the agent's own account is none of those that it shows.
func (a *accounts) needsNone(agent string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(agent)
}

// kind says whose account it is, and takes the first key for the agent's own.
func (a *accounts) kind(agent string, of account, named bool) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.of[agent]; !known && of.key {
		a.add(agent, of.here, of.anywhere)
	}
	if a.of[agent][of.here] || named && of.anywhere != "" && a.of[agent][of.anywhere] {
		return AccountOwn
	}
	return AccountNew
}

func (a *accounts) tie(agent string, of account) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(agent, of.here, of.anywhere)
}

func (a *accounts) add(agent string, digests ...holdgate.Digest) {
	if a.of == nil {
		a.of = map[string]map[holdgate.Digest]bool{}
	}
	if a.of[agent] == nil {
		a.of[agent] = map[holdgate.Digest]bool{}
	}
	for _, d := range digests {
		a.of[agent][d] = true
	}
}

// ForgetAccounts is for when a run has ended: its agent's name may be another's next.
func (s *Steps) ForgetAccounts(agent string) {
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	delete(s.accounts.of, agent)
}

// Accounts are those that count as an agent's own, for another process that goes on with
// its run; nil: none is known yet.
func (s *Steps) Accounts(agent string) []holdgate.Digest {
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	of, known := s.accounts.of[agent]
	if !known {
		return nil
	}
	return append([]holdgate.Digest{}, slices.Sorted(maps.Keys(of))...)
}

// KnowAccounts takes up what [Steps.Accounts] returned.
func (s *Steps) KnowAccounts(agent string, own []holdgate.Digest) {
	if own == nil {
		return
	}
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	s.accounts.add(agent, own...)
}

// WithAccount finds out on whose account the request is made. It is for requests to hosts
// that may serve models.
func (e *Exchange) WithAccount() {
	agent := e.Target.Caller.Agent
	if !agent.Keys {
		return
	}
	of, asks := e.account(), e.Target.Codec != nil
	switch {
	case e.Target.Credential != "", // what Holdgate puts in takes the place of what was sent
		asks && !of.key && e.Target.Named && !route.IsProvider(e.Target.URL.Hostname()):
		e.Steps.accounts.needsNone(agent.ID)
		e.Target.Account = AccountOwn
	case asks, of.key:
		e.Target.Account = e.Steps.accounts.kind(agent.ID, of, e.Target.Named)
	}
}

// tieAccount is for when people have let the request go on: to its host, or to all that
// the configuration names.
func (e *Exchange) tieAccount() {
	if e.Target.Account != AccountNew {
		return
	}
	of := e.account()
	if !e.Target.Named {
		of.anywhere = ""
	}
	e.Steps.accounts.tie(e.Target.Caller.Agent.ID, of)
}

// gatewayKeys are headers by which gateways take a key besides the provider's, or are told
// whose server to ask.
var gatewayKeys = []string{
	"Ocp-Apim-Subscription-Key", "X-Litellm-Api-Key", "Cf-Aig-Authorization",
	"Helicone-Auth", "Helicone-Target-Url", "Helicone-Target-Provider", "Helicone-Openai-Api-Base", "Helicone-Fallbacks",
}

// A gateway of Portkey's is told by headers of this beginning whom it asks and with what,
// but for those that trace a request.
const portkey = "X-Portkey-"

var portkeyTraces = []string{
	"X-Portkey-Trace-Id", "X-Portkey-Span-Id", "X-Portkey-Parent-Span-Id", "X-Portkey-Span-Name", "X-Portkey-Metadata",
	"X-Portkey-Cache-Force-Refresh", "X-Portkey-Cache-Namespace", "X-Portkey-Request-Timeout", "X-Portkey-Debug",
}

// accountParams are what providers take a key by in the query. Google takes each of its own
// with a $ before it, too.
var accountParams = []string{"key", "api_key", "api-key", "apikey", "subscription-key", "access_token", "oauth_token", "x-amz-credential"}

// tenants are hosts on which the beginning of the path says whose account it is, and how
// many segments that are.
var tenants = map[string]int{"gateway.ai.cloudflare.com": 3}

// account names the account that the request shows. A cookie is of its host alone.
func (e *Exchange) account() account {
	fields := slices.Concat(headerKeys(e.R.Header), queryKeys(e.Target.URL))
	var of account
	if of.key = len(fields) > 0; of.key {
		of.anywhere = e.Steps.Digester.Fields("key", fields...)
	} else {
		for _, v := range e.R.Header.Values("Cookie") {
			fields = append(fields, "cookie", v)
		}
		of.key = len(fields) > 0
	}
	if n := tenants[route.LowerHost(e.Target.URL.Hostname())]; n > 0 {
		segments := strings.Split(strings.Trim(route.LaxPath(e.Target.URL.Path), "/"), "/")
		fields = append(fields, "tenant", strings.Join(segments[:min(n, len(segments))], "/"))
	}
	of.here = e.Steps.Digester.Fields("account", append([]string{upstream.Origin(e.Target.URL)}, fields...)...)
	return of
}

// headerKeys are the keys in a request's headers, and their names. A gateway may take an
// underscore in a name for a hyphen, as CGI does.
func headerKeys(h http.Header) (fields []string) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		plain := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
		known := slices.Contains(upstream.CredentialHeaders, plain) || slices.Contains(gatewayKeys, plain) ||
			strings.HasPrefix(plain, portkey) && !slices.Contains(portkeyTraces, plain)
		if !known {
			continue
		}
		for _, v := range h[name] {
			fields = append(fields, strings.ToLower(name), signer(v))
		}
	}
	return fields
}

// queryKeys are the keys in a request's query. One that could be read in two ways is a key
// as a whole.
func queryKeys(u *url.URL) (fields []string) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		fields = append(fields, "query", u.RawQuery)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if param := strings.TrimPrefix(strings.ToLower(name), "$"); slices.Contains(accountParams, param) {
			fields = append(append(fields, param), query[name]...)
		}
	}
	return fields
}
