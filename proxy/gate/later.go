package gate

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/store/audit"
)

// A Warden keeps what runs later by itself from agents whose changes can be undone: each such
// file is refused, unless a call that goes on may change it. Both functions may be called
// by several goroutines.
type Warden struct {
	// Let lets a call of an agent change it, before the call goes on.
	Let func(agent, call string, may holdgate.Later)
	// Settle ends what calls were let, and returns what was refused since it was asked last:
	// paths in the agent's folder, each once.
	Settle func(agent string, calls []string) (refused []string)
}

// openCalls are calls that were let change what runs later, and whose results were not seen,
// by session.
type openCalls struct {
	mu sync.Mutex
	of map[sessionOf][]openCall
}

type openCall struct{ id, name string }

// maxOpen bounds the calls of one session.
const maxOpen = 100

// let lets a call of a model's answer that goes on change what its facts name. What is run
// at an MCP server's door is not in the agent's confinement.
func (x *Exchange) let(ctx context.Context, c holdgate.Call, may *holdgate.Later) {
	if may == nil || x.g.c.Warden.Let == nil || x.from.At != InAnswer || !c.Agent.Undo {
		return
	}
	name := rand.Text()
	x.g.c.Warden.Let(x.from.Agent.ID, name, *may)
	if old := x.g.open.add(x.from.Caller, openCall{c.ID, name}); old != "" {
		x.tell(ctx, x.g.c.Warden.Settle(x.from.Agent.ID, []string{old}))
	}
}

// settle ends what calls were let whose results a request brings.
func (x *Exchange) settle(ctx context.Context, h wire.History) {
	if x.g.c.Warden.Settle == nil || len(h.Results) == 0 || !x.from.Agent.Undo {
		return
	}
	x.tell(ctx, x.g.c.Warden.Settle(x.from.Agent.ID, x.g.open.ended(x.from.Caller, h)))
}

// tell tells the model and people of what was refused.
func (x *Exchange) tell(ctx context.Context, refused []string) {
	if len(refused) == 0 {
		return
	}
	ctx = trace.Carry(x.g.life, ctx)
	note := noteLater(refused)
	call := &audit.Call{Kind: holdgate.KindToolCall}
	if err := x.g.c.Queue.Find(ctx, x.from.Caller, call, note); err != nil {
		x.g.c.Logger.ErrorContext(ctx, "writing a finding", "err", err)
	}
	if err := x.g.c.Queue.Remark(ctx, x.from.Caller, note+". "+adviceLater); err != nil {
		x.g.c.Logger.ErrorContext(ctx, "leaving a message for the model", "err", err)
	}
}

const adviceLater = "If it is wanted, change the file in a call of its own that names the path: a person is asked about that. " +
	"What git brings (checkout, pull, merge) is written where nothing but git commands is in the call. Do not try other ways."

// noteLater says what was refused.
func noteLater(refused []string) string {
	const most = 5
	shown := refused[:min(len(refused), most)]
	text := strings.Join(shown, ", ")
	if more := len(refused) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "not changed, for it runs later by itself or tells agents what to do, and no call that was let go on names it: " + text
}

// add takes a call in, and returns the name of one that there is no room for any longer.
func (o *openCalls) add(who approvals.Caller, c openCall) (old string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	k := sessionOf{who.Agent.ID, who.Session.ID}
	if o.of == nil {
		o.of = map[sessionOf][]openCall{}
	}
	list := o.of[k]
	if len(list) >= maxOpen {
		old, list = list[0].name, list[1:]
	}
	o.of[k] = append(list, c)
	return old
}

// ended takes out the calls of a session that have results in a request. Where a format has
// no ids, all have.
func (o *openCalls) ended(who approvals.Caller, h wire.History) (names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	k := sessionOf{who.Agent.ID, who.Session.ID}
	if len(o.of[k]) == 0 {
		return nil
	}
	ids := map[string]bool{}
	for _, r := range h.Results {
		ids[r.ID] = true
	}
	o.of[k] = slices.DeleteFunc(o.of[k], func(c openCall) bool {
		if is := ids[c.id] || c.id == "" || ids[""]; !is {
			return false
		}
		names = append(names, c.name)
		return true
	})
	if len(o.of[k]) == 0 {
		delete(o.of, k)
	}
	return names
}
