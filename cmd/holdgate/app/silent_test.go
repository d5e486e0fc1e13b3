package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/upstream"
)

func TestAHostIsSilentUntilItAnswersTheAgent(t *testing.T) {
	t.Parallel()
	var s silent
	at := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	refused := fmt.Errorf("dial tcp 127.0.0.1:9: %w", syscall.ECONNREFUSED)
	fail := func(agent, host string, err error) {
		at = at.Add(time.Second)
		s.answered(steps.Answered{Host: host, Upstream: "anthropic", Agent: agent, Err: err}, at)
	}
	for range 3 {
		fail("claude", "a", refused)
	}
	fail("codex", "a", refused)
	fail("claude", "b", &upstream.AddressError{})
	list := s.list(at)
	if len(list) != 2 || list[0].Agent != "claude" || list[0].Times != 3 || list[0].At.Sub(list[0].Since) != 2*time.Second {
		t.Fatalf("silent are %+v", list)
	}
	if want := "Nothing listens there. Is upstreams.anthropic.url right?"; list[0].Hint != want || !strings.Contains(list[0].Why, "refused") {
		t.Errorf("%s: %s", list[0].Why, list[0].Hint)
	}
	s.answered(steps.Answered{Host: "a", Agent: "claude", Status: 500}, at)
	if list = s.list(at); len(list) != 1 || list[0].Agent != "codex" {
		t.Errorf("after an answer silent are %+v", list)
	}
	for i := range 3 * maxSilent {
		fail("claude", fmt.Sprintf("host-%d", i), refused)
	}
	if list = s.list(at); len(list) != maxOfAgent+1 || list[0].Agent != "codex" || list[maxOfAgent].Host != fmt.Sprintf("host-%d", 3*maxSilent-1) {
		t.Errorf("%d hosts are remembered, the last of them %+v", len(list), list[len(list)-1])
	}
	for i := range 2 * maxSilent {
		fail(fmt.Sprintf("agent-%d", i), strings.Repeat("h", 1<<16), fmt.Errorf("%s: %w", strings.Repeat("h", 1<<16), refused))
	}
	if list = s.list(at); len(list) != maxSilent || len(list[0].Host) > 2*maxHostName || len(list[0].Why) > 2*maxFault {
		t.Errorf("%d hosts are remembered, the first with a name of %d bytes and an error of %d", len(list), len(list[0].Host), len(list[0].Why))
	}
	if list = s.list(at.Add(silentFor + time.Minute)); len(list) != 0 {
		t.Errorf("a day later silent are %+v", list)
	}
}

func TestTheHintAboutAHostSaysWhatToLookAt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		upstream string
		err      error
		want     string
	}{
		{"", syscall.ECONNREFUSED, "Nothing listens there."},
		{"mcp/files", syscall.ECONNREFUSED, "Nothing listens there. Is mcp.files.url right?"},
		{"openai", &net.DNSError{}, "Is this machine online? Is upstreams.openai.url right? Where only a proxy reaches the internet, set upstream_proxy or HTTPS_PROXY."},
		{"", context.DeadlineExceeded, "Is this machine online? Where only a proxy reaches the internet, set upstream_proxy or HTTPS_PROXY."},
		{"", &net.OpError{Err: syscall.ENETUNREACH}, "Is this machine online? Where only a proxy reaches the internet, set upstream_proxy or HTTPS_PROXY."},
		{"", errors.New("EOF"), ""},
	} {
		if got := unreachedHint(steps.Answered{Upstream: c.upstream, Err: c.err}); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
