package app

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// silent are the hosts that gave the latest request to them no answer. The agent is told
// so in its own answer, which people may never see. It is safe for concurrent use.
type silent struct {
	mu    sync.Mutex
	hosts []api.Unreached // the latest last
}

// What is remembered is bounded, for agents choose names: hosts in all and of one agent, for
// how long, and bytes of a name and of an error.
const (
	maxSilent   = 100
	maxOfAgent  = 20
	silentFor   = 24 * time.Hour
	maxHostName = 253
	maxFault    = 500
)

// answered notes how a host took to a request. What Holdgate refuses by itself says
// nothing of the host.
func (s *silent) answered(a steps.Answered, now time.Time) {
	if _, refused := errors.AsType[*upstream.AddressError](a.Err); refused {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := api.Unreached{Host: holdgate.Visible(holdgate.Bounded(a.Host, maxHostName)), Upstream: a.Upstream, Agent: a.Agent, Since: now}
	if i := slices.IndexFunc(s.hosts, func(k api.Unreached) bool { return k.Host == u.Host && k.Agent == u.Agent }); i >= 0 {
		u.Times, u.Since = s.hosts[i].Times, s.hosts[i].Since
		s.hosts = slices.Delete(s.hosts, i, i+1)
	}
	if a.Err == nil {
		return
	}
	u.Times, u.At, u.Why, u.Hint = u.Times+1, now, holdgate.Bounded(upstream.Fault(a.Err), maxFault), unreachedHint(a)
	s.hosts = append(s.hosts, u)
	of := 0
	for i := len(s.hosts) - 1; i >= 0; i-- {
		if s.hosts[i].Agent != a.Agent {
			continue
		}
		if of++; of > maxOfAgent {
			s.hosts = slices.Delete(s.hosts, i, i+1)
		}
	}
	s.hosts = s.hosts[max(len(s.hosts)-maxSilent, 0):]
}

// list are the hosts of the last day, the latest last.
func (s *silent) list(now time.Time) []api.Unreached {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.hosts), func(u api.Unreached) bool { return now.Sub(u.At) > silentFor })
}

// unreachedHint says what a person can do about a host that gives no answer. What is
// wrong with a certificate or a proxy says so itself.
func unreachedHint(a steps.Answered) string {
	key := ""
	if name, mcp := strings.CutPrefix(a.Upstream, "mcp/"); mcp {
		key = "mcp." + name + ".url"
	} else if a.Upstream != "" {
		key = "upstreams." + a.Upstream + ".url"
	}
	right := ""
	if key != "" {
		right = " Is " + key + " right?"
	}
	if _, ok := errors.AsType[*net.DNSError](a.Err); ok {
		return "Is this machine online?" + right + " Where only a proxy reaches the internet, set upstream_proxy or HTTPS_PROXY."
	}
	timed, ok := errors.AsType[net.Error](a.Err)
	switch {
	case errors.Is(a.Err, syscall.ECONNREFUSED):
		return "Nothing listens there." + right
	case ok && timed.Timeout(), errors.Is(a.Err, context.DeadlineExceeded),
		errors.Is(a.Err, syscall.ENETUNREACH), errors.Is(a.Err, syscall.EHOSTUNREACH):
		return "Is this machine online? Where only a proxy reaches the internet, set upstream_proxy or HTTPS_PROXY."
	}
	return ""
}
