// Package rego decides calls by Rego policy.
//
// An [Engine] holds one compiled policy behind one atomic pointer. [Engine.Decide]
// builds input from a call and its facts, evaluates data.holdgate.decision,
// and reads the result strictly. It always answers, and what goes wrong
// refuses: where policy is undefined, in error (an error in a built-in is one,
// other than in stock OPA), late or of a shape that is not known, the decision is a denial (or a hold, where Options.OnError says so)
// with the rule holdgate.policy_error.
//
// # Where policy comes from
//
// The shipped pack is embedded (package policies). A file, folder or bundle (of
// which only signed ones are taken, where there is a key) of the user's own
// either replaces it, by defining data.holdgate.decision, or lies
// over it: each package holdgate.custom.NAME adds decisions, and the strictest
// wins. Data files are merged as opa merges them, by folder; data.settings is
// laid over the pack's defaults, key by key, and checked against its schema.
// What could silently weaken a policy does not load: a field of input that
// does not exist, rules in a package that nobody asks, an unknown setting.
// Policies that were written for other programs are added to the pack too, by an
// [Adapter]. An OPA configuration may name servers that bundles come from and
// that decision logs go to; and where neither files nor servers rule, a policy
// can be handed over ([Engine.Replace]).
//
// # Reload
//
// [Engine.Run] watches the files. A change is taken up once two readings in a
// row agree, as one pointer swap; what does not load is reported and changes
// nothing. A decision names the revision that made it. Each load tells what
// differs from the policy before, and whether that may let more through
// ([Change]).
//
// Policies cannot reach out: built-ins that do I/O or whose result differs
// from call to call (http.send, opa.runtime, net.lookup_ip_addr, rand.intn,
// ...) do not compile.
package rego

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
)

// DefaultTimeout bounds one evaluation where Options.Timeout is zero. It is no
// goal, which is microseconds, but an end to rules that run away: a machine
// that is busy must not look like one.
const DefaultTimeout = time.Second

// Options say where policy comes from and what happens when it fails.
type Options struct {
	Path    string  // a file, folder or bundle (.tar.gz) of the user's own; empty: the shipped pack alone
	Signing Signing // which bundles to trust
	// Pushed is in place of Path: files that were handed over; see Engine.Replace. Where
	// it does not load, Open succeeds, and every call meets a failing policy until another
	// is handed over ([Loaded.Broken]): only an engine that runs can take one.
	Pushed  *Pushed
	Adapter Adapter // the shape that the user's policy has
	Query   string  // with Adapter: the rule to ask, such as data.agent.call.decision
	// OPAConfig is an OPA configuration file with the servers that bundles come
	// from, in place of Path, and that decision logs go to.
	OPAConfig string
	KeepDir   string          // where bundles with persist are kept
	NoInputs  bool            // decision logs carry no input
	KeepSeen  bool            // decisions carry Seen, for the audit log
	Observe   bool            // log what would be held or denied, and allow it
	OnError   holdgate.Action // Deny (the zero value) or Hold
	Timeout   time.Duration   // of one evaluation, which is tried twice; DefaultTimeout where zero
	Logger    *slog.Logger    // nothing is logged where nil
	// OnLoad, where set, is told of every load by Open and Run. It is never called twice at the
	// same time.
	OnLoad func(Load)
	// OnEvaluated, where set, is told of each decision for which rules were evaluated
	// anew, within the context of [Engine.Decide]: how long that took, and whether it
	// failed. It is called by several goroutines and must be quick.
	OnEvaluated func(ctx context.Context, took time.Duration, failed bool)
}

// A Load is a new policy, or one that was refused.
type Load struct {
	Loaded Loaded // what is in force now
	Change Change // from what was in force before; empty for the first policy
	Err    error  // why the new policy was refused: the earlier one stays
}

// Loaded says what is in force.
type Loaded struct {
	Revision string // a short hash of all modules and data
	Name     string // the name that the policy has for people: a bundle's revision, or under which it was pushed
	Path     string // or the OPA configuration that names the servers
	Whole    bool   // Path defines data.holdgate.decision and replaces the pack
	Modules  int
	// Broken is why the policy that was handed over does not load: no call is decided.
	Broken string
}

// Engine answers with the policy in force. It is safe for concurrent use.
type Engine struct {
	o       Options
	spec    spec
	remote  *remote // nil: none
	current atomic.Pointer[policy]
	loading sync.Mutex // held while another policy is put in force
}

// Open loads and prepares the policy. It fails where none loads.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if o.OnError == holdgate.Allow {
		return nil, fmt.Errorf("policy errors cannot be allowed: choose deny or hold")
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s, r, err := o.resolve(ctx)
	if err != nil {
		return nil, err
	}
	e := &Engine{o: o, spec: s, remote: r}
	p, err := load(ctx, s)
	if err != nil && s.pushed != nil {
		p, err = broken(ctx, s, err)
	}
	if err != nil {
		e.Close(ctx)
		return nil, err
	}
	e.current.Store(p)
	e.report(Load{Loaded: p.loaded})
	return e, nil
}

// Close sends what decision logs still hold, for as long as ctx lasts. It is
// to be called once Run has returned.
func (e *Engine) Close(ctx context.Context) {
	if e.remote != nil {
		e.remote.close(ctx)
	}
}

// Checked is what Check found.
type Checked struct {
	Loaded

	Askers []Asker // as Engine.Askers
}

// Check loads the policy as [Open] does and says what it is, or why it does
// not load.
func Check(ctx context.Context, o Options) (Checked, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s, r, err := o.resolve(ctx)
	if err != nil {
		return Checked{}, err
	}
	if r != nil {
		defer r.close(ctx)
	}
	p, err := load(ctx, s)
	if err != nil {
		return Checked{}, err
	}
	return Checked{Loaded: p.loaded, Askers: p.askers}, nil
}

// Loaded says which policy is in force.
func (e *Engine) Loaded() Loaded { return e.current.Load().loaded }

// report tells the log and OnLoad of a load.
func (e *Engine) report(l Load) {
	e.tell(l)
	if e.o.OnLoad != nil {
		e.o.OnLoad(l)
	}
}

// tell tells the log of a load.
func (e *Engine) tell(l Load) {
	log := e.o.Logger.With("path", l.Loaded.Path, "revision", l.Loaded.Revision)
	switch {
	case l.Loaded.Broken != "" && l.Err == nil:
		log.Error("the policy that was pushed does not load: no call is let through until another is pushed, or holdgate policy rollback", "name", l.Loaded.Name, "err", l.Loaded.Broken)
	case l.Err != nil:
		log.Error("policy refused, the earlier one stays", "err", l.Err)
	case l.Change.MayLoosen:
		log.Warn("policy loaded that may let more through", "whole", l.Loaded.Whole, "change", l.Change.String())
	default:
		log.Info("policy loaded", "whole", l.Loaded.Whole, "modules", l.Loaded.Modules, "change", l.Change.String())
	}
}

// Input is what a decision is made from.
type Input struct {
	Call       holdgate.Call
	Answers    []Answer // what people have answered to this call so far
	Edited     bool     // a person has changed the arguments
	Mode       string   // the session's mode: "auto" where empty
	Threshold  float64  // the session's own confidence threshold; the policy's where zero
	Gates      Gates    // of the session
	Taint      []string // what the session has been in touch with
	Repeats    int      // how often the very same call was made lately, this time included; 0 where nobody counts
	Gate       *Gate    // how a gate is asked about; set where the call is one
	History    *History // what became of the session's calls; nil where nobody counts
	Confidence *Confidence
	Usage      *Usage // what the session has used; nil where nobody counts
	Shell      string // where the session's calls may have left the agent's shell, of [holdgate.Facts]; empty: in Dir
	Dir        string // the session's folder, absolute; empty where not known
	From       string // the folder that the call starts in by the agent's word, where that is outside of Dir, absolute; else empty
	Home       string // the agent's home folder, absolute; empty where not known
	Own        Own    // what is Holdgate's own on this host
}

// Own is what belongs to Holdgate itself: listeners and folders.
type Own = facts.Own

// Answer is what a person answered to a hold of this call.
type Answer struct {
	Gate     string
	Rule     string
	Decision holdgate.Answer
	Choice   string
	By       string
	Also     []string // the other rules that were shown with the question, of Decision.Also
}

// Gates are the gates of a session, by their types.
type Gates struct {
	On     []string // at which traffic stops by itself
	Told   []string // advisory ones: people are told when traffic is at them
	Needed []string // that must be passed before the session changes anything
	Passed []string
	When   map[string]When  // the conditions of those that have one
	How    map[string]*Gate // how those are asked about at which traffic may be
}

// When is the condition of a gate: each part that is set must be met.
type When struct {
	Categories      []string `json:"categories,omitempty"`
	ConfidenceBelow float64  `json:"confidence_below,omitempty"` // 0: none
	Paths           []string `json:"paths,omitempty"`
	Risk            string   `json:"risk,omitempty"`
	Taint           []string `json:"taint,omitempty"`
	Tools           []string `json:"tools,omitempty"`
}

// Gate is how a gate is asked about, as the configuration says it, and how often
// it was steered before.
type Gate struct {
	Enabled   *bool
	Level     string
	Message   string
	Timeout   time.Duration // 0: that of any hold
	OnTimeout holdgate.TimeoutAction
	Required  bool
	Show      []string
	Edits     bool
	Options   []holdgate.Option
	Threshold float64 // below which a report of confidence is asked about
}

// History is what became of a session's calls.
type History struct {
	Allowed, Refused, Asked, Approved, Denied, Steered, Expired int
	Succeeded, Failed                                           int // tools, as far as their results were seen and say so
}

// Usage is what a session has used so far.
type Usage struct {
	holdgate.Usage
	CallsPerMinute int // in the last minute; 0: it is not counted
}

// Ended says how tools ended, as Holdgate saw it.
type Ended struct{ Succeeded, Failed int }

// Confidence is how sure the agent is, as reported.
type Confidence struct {
	Score   float64 // 0 to 1
	Source  string
	Reasons []string
	Tools   *Ended // how the session's latest tools ended; nil where none was seen
	// Work is what the scorer needs to know, as far as it is known: see policies/score.
	Work map[string]any
}
