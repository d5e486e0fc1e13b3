package proxy_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// againPolicy looks at what people have answered so far.
const againPolicy = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "again.allow"}

command := object.get(input, ["tool", "arguments", "command"], "")

first if "again.first" in {a.rule | some a in input.answers}

decision := {"action": "deny", "rule": "again.deny", "reason": "it may not go on any longer"} if {
	contains(command, "revoked")
	first
} else := {"action": "hold", "rule": "again.second", "reason": "one more question"} if {
	contains(command, "twice")
	first
} else := {"action": "hold", "rule": "again.first", "reason": "it says gated"} if {
	contains(command, "gated")
}
`

func TestAnApprovedCallIsDecidedAgain(t *testing.T) {
	t.Parallel()
	ask := func(t *testing.T, command string) (*proxytest.Sidecar, <-chan string) {
		var seen proxytest.Counter
		g := proxytest.New(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", command), proxytest.MessageEnd("tool_use")), proxytest.WithPolicy(t, againPolicy))
		got := make(chan string, 1)
		go func() { got <- proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body) }()
		g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
		return g, got
	}
	t.Run("the next question is asked, and both approvals are used", func(t *testing.T) {
		g, got := ask(t, "gated twice")
		second := g.Pending(1)[0]
		if second.Rule != "again.second" {
			t.Errorf("asked under rule %s", second.Rule)
		}
		g.Decide(second, holdgate.AnswerApprove, "")
		if body := <-got; !strings.Contains(body, "toolu_1") {
			t.Errorf("the call did not go on:\n%s", body)
		}
		if n := len(g.Entries(audit.TypeUsed)); n != 2 {
			t.Errorf("%d approvals were used, want 2", n)
		}
	})
	t.Run("a denial wins over the approval", func(t *testing.T) {
		g, got := ask(t, "gated revoked")
		if body := <-got; strings.Contains(body, "toolu_1") || !strings.Contains(body, "again.deny") {
			t.Errorf("the call went on:\n%s", body)
		}
		if n := len(g.Entries(audit.TypeUsed)); n != 0 {
			t.Errorf("%d approvals were used, want none", n)
		}
	})
}

// A syncing store counts the transactions that are synced before they return.
type syncing struct {
	store.Store
	updates atomic.Int64
}

func (s *syncing) Update(ctx context.Context, fn func(store.Tx) error) error {
	s.updates.Add(1)
	return s.Store.Update(ctx, fn)
}

func TestPromise8ADenialIsSyncedBeforeItTakesEffect(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	up := proxytest.NewUpstream(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "forbidden"), proxytest.MessageEnd("tool_use")))
	disk := &syncing{}
	g := proxytest.NewWith(t, proxytest.Parts{Store: func(s store.Store) store.Store { disk.Store = s; return disk }}, map[string]string{"test": up}, nil)
	before := disk.updates.Load()
	if body := proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body); !strings.Contains(body, proxytest.NoticeWord) {
		t.Fatalf("nothing was refused:\n%s", body)
	}
	if n := disk.updates.Load() - before; n != 1 {
		t.Errorf("%d transactions were synced, want the denial's alone: an allowed request is only written", n)
	}
}
