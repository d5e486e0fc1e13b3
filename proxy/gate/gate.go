// Package gate takes one parsed call to a verdict: policy decides, a grant or
// people answer what policy asks, policy decides again, and the approvals are used
// before a byte of the call goes on.
//
// The order stands here once. A flow begins an [Exchange] for a request of an agent
// ([Gate.Begin] or [Gate.Enter]) and makes an [Evaluation] of each call in it:
//
//	Decide -> [hold -> Wait or CatchUp -> decide again] -> Use -> Done
//
// [Exchange.Decide] asks policy. Afterwards the call is decided, or a request for it
// stands in the queue. There are two ways to wait for that request. [Exchange.Wait]
// keeps the caller in line until people have answered. [Exchange.CatchUp] takes what
// they have answered so far, for an agent that asks again later. Each answer goes
// back to policy, which may ask the next question. [Exchange.Use] claims the
// approvals on disk, and [Exchange.Done] writes down what became of the exchange.
// [Exchange.Pass] is all of this for one call.
//
// Before policy stands what people have made of the agent: nothing of a paused agent
// goes on, and everything of a stopped agent is refused.
//
// Whatever cannot be decided, written or stored is refused. The package knows no
// format and no HTTP. It knows the queue by its door ([Queue]), policy by the one
// question that it answers ([Policy]), and tools by what has been learned of them
// ([Catalog]).
package gate

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
)

// Policy decides calls. [rego.Engine] is one.
type Policy interface {
	Decide(ctx context.Context, in rego.Input) holdgate.Decision
	// Taint says what the result of a call brings its session in touch with.
	Taint(ctx context.Context, in rego.Input) ([]string, error)
}

// A Catalog knows what MCP servers have said of their tools.
type Catalog interface {
	// Learned is what is known of the tool of a call, or nil.
	Learned(t *holdgate.Tool) *holdgate.Learned
}

// Config is what a [Gate] needs. All fields but the last group must be set.
type Config struct {
	Policy   Policy
	Queue    Queue
	Catalog  Catalog
	Log      *audit.Log
	Digester *holdgate.Digester
	Logger   *slog.Logger

	Home       string                  // the agents' home folder, where it is known
	Private    []string                // folders of Holdgate's own
	Deciders   func() []netip.AddrPort // where people decide calls
	Confidence Confidence
	Limits     func() Limits // of the moment; nil: nothing is bounded
	SyncAllows bool          // plain allows are synced before they take effect, too
	NoInputs   bool          // the audit log keeps no arguments

	// Proofs, where it is set, says what still holds of what was proven of an agent.
	Proofs func(holdgate.Agent) holdgate.Proofs

	// Warden, where it is set, is told of what a call that goes on may change of what runs
	// later by itself, and of calls whose results were seen.
	Warden Warden

	// OnRefused, where it is set, is told of each request that never reached policy, by
	// the rule. It is called by several goroutines and must be quick.
	OnRefused func(rule string)

	// OnHeld, where it is set, is told how each client that waits for people does so. It is
	// called by several goroutines and must be quick.
	OnHeld func(Rung)
}

// Confidence says what becomes of agents' reports of how sure they are.
type Confidence struct {
	Enabled   bool    // policy is told of them
	Threshold float64 // from 0 to 1
}

// Limits bound what one agent may cost. Zero fields bound nothing.
type Limits struct {
	Decisions float64 // that one agent may ask for in a second
	LogBytes  int64   // that one agent's calls may add to the log in an hour
}

// A Gate takes calls to verdicts. It is safe for concurrent use.
type Gate struct {
	c          Config
	life       context.Context // ends when nothing is decided any longer
	quotas     *quotas
	provenance *provenance
	open       openCalls
	hooked     hooked
}

// New returns a Gate that decides for as long as life lasts.
func New(life context.Context, c Config) *Gate {
	if c.Limits == nil {
		c.Limits = func() Limits { return Limits{} }
	}
	return &Gate{c: c, life: life, quotas: newQuotas(c.Limits, c.Log, c.Queue), provenance: newProvenance()}
}

// Evaluate says what policy decides of a call, and changes nothing by it.
func (g *Gate) Evaluate(ctx context.Context, from From, e *Evaluation) holdgate.Decision {
	x := g.Begin(from, nil)
	return x.evaluate(ctx, e, nil)
}

// Admit takes a decision from what the agent may ask for, or returns a
// [*LimitError] where there is none left.
func (g *Gate) Admit(agent holdgate.Agent) error {
	if over := g.quotas.admit(g.life, agent); over != nil {
		return over
	}
	return nil
}
