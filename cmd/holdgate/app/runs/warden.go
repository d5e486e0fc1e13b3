package runs

import (
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/handover"
	"github.com/holdgate/holdgate/proxy/gate"
)

// A Warden is a [gate.Warden] for one agent. Its functions are nil where there is none.
type Warden struct {
	Let    func(call string, may holdgate.Later)
	Settle func(calls []string) (refused []string)
}

// Keeper keeps what runs later by itself from the agents of runs that keep what they
// change.
func (r *Runs) Keeper() gate.Warden {
	return gate.Warden{
		Let: func(agent, call string, may holdgate.Later) {
			if own := r.c.Warden; agent == r.c.Own.ID && own.Let != nil {
				own.Let(call, may)
				return
			}
			r.ask(agent, handover.Line{Call: call, Let: &may})
		},
		Settle: func(agent string, calls []string) []string {
			if own := r.c.Warden; agent == r.c.Own.ID && own.Settle != nil {
				return own.Settle(calls)
			}
			return r.ask(agent, handover.Line{Ended: calls}).Refused
		},
	}
}

// ask has the run of an agent do something. Where it cannot, the agent may change less.
func (r *Runs) ask(agent string, line handover.Line) handover.Line {
	r.mu.Lock()
	asked := r.asks[agent]
	r.mu.Unlock()
	if asked == nil {
		return handover.Line{}
	}
	done, err := asked.Ask(line)
	if err != nil && r.ctx.Err() == nil {
		r.c.Logger.Warn("a run does not say what its agent changes of what runs later", "agent", agent, "err", err)
	}
	return done
}
