package mcpproxy_test

import (
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/identity"
)

// A task has no request that is open. It ends with its agent's token all the same, for
// good: what people approve later runs nothing.
func TestATaskEndsWithItsAgentsToken(t *testing.T) {
	with, err := identity.New([]identity.Agent{{ID: "ann", Tokens: [][32]byte{identity.Hash(proxytest.AnnsToken)}}}, nil)
	proxytest.Must(t, err)
	without, err := identity.New(nil, nil)
	proxytest.Must(t, err)
	var book atomic.Pointer[identity.Book]
	book.Store(with)
	up := &taskServer{plain: true}
	g, c := newTaskGate(t, up, func(c *proxy.Config) { c.Agents = book.Load })
	c.token = proxytest.AnnsToken
	task := c.start("gated")
	held := g.Pending(1)[0]
	book.Store(without)
	if got := g.Server.Recheck(); got["ann"] != 1 {
		t.Errorf("ended: %v", got)
	}
	book.Store(with)
	c.until(task.TaskID, "cancelled")
	g.Decide(held, holdgate.AnswerApprove, "")
	if n := up.calls(); n != 0 {
		t.Errorf("the call was run %d times", n)
	}
	g.Verified()
}
