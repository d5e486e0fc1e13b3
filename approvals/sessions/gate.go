package sessions

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
)

// Level says how much weight a gate has.
type Level string

// The levels of a gate.
const (
	Mandatory   Level = "mandatory"   // a person must let it pass
	Conditional Level = "conditional" // where the agent is not sure enough
	Advisory    Level = "advisory"    // people are told, and it goes on; one with options is asked about
)

// Gates that Holdgate itself opens.
const (
	GateIntent      = "intent_approval"
	GateConfidence  = "confidence_threshold"
	GateDiagnostics = "diagnostics" // its request halts the session
	GateConstraint  = "constraint_exception"
	GateQuestion    = "clarification" // an agent's question to people, which is no gate to pass
)

// A Gate is how a type of gate is asked about. Empty fields are the type's own.
type Gate struct {
	// Enabled: true also where the agent's traffic shows that it is at the gate,
	// false never, and nil where the agent itself asks.
	Enabled  *bool         `yaml:"enabled"`
	Level    Level         `yaml:"level"`
	Message  string        `yaml:"message"`
	Timeout  time.Duration `yaml:"-"`
	Required *bool         `yaml:"required"` // no silence and no grant lets it pass; nil is no
	// OnTimeout is what silence does.
	OnTimeout holdgate.TimeoutAction `yaml:"-"`
	// Show is what people should see: plan, diff, tests, review.
	Show []string `yaml:"show"`
	// Edits lets people ask for something else (steer); nil is yes.
	Edits   *bool             `yaml:"edits"`
	Options []holdgate.Option `yaml:"-"` // make it a choice
	// Sessions are patterns of [path.Match] of those that must pass the gate before they
	// change anything. A slash is a letter like others; "*" is every session.
	Sessions []string `yaml:"sessions"`
	// When is a condition of the call, or of the session, without which nobody is asked;
	// nil is none.
	When *When `yaml:"when"`
	// Lasts is how long a gate stays passed; 0: for the session.
	Lasts time.Duration `yaml:"-"`
}

// onceLasts is how long a gate stays passed that work passes again and again: long enough for what the agent asked to do.
const onceLasts = 10 * time.Minute

// own are the types that are known without configuration.
func own() map[string]Gate {
	yes := true
	return map[string]Gate{
		GateIntent:            {Level: Mandatory, Required: &yes, Message: "Approve what is to be built before work begins?", Show: []string{"plan"}},
		"before_plan_impl":    {Level: Mandatory, Message: "Plan the implementation of this?", Show: []string{"plan"}},
		"before_implement":    {Level: Mandatory, Message: "Implement this plan?", Show: []string{"plan"}},
		"after_implement":     {Lasts: onceLasts, Level: Mandatory, Message: "Go on with these changes?", Show: []string{"diff"}},
		"before_verify":       {Lasts: onceLasts, Level: Mandatory, Message: "Verify these changes?", Show: []string{"diff"}},
		"after_verify":        {Lasts: onceLasts, Level: Mandatory, Message: "Go on with these test results?", Show: []string{"tests"}},
		"before_review":       {Lasts: onceLasts, Level: Mandatory, Message: "Begin the review?", Show: []string{"tests"}},
		"after_review_issues": {Lasts: onceLasts, Level: Mandatory, Message: "The review found issues. Go on and fix them?", Show: []string{"review"}},
		"before_commit":       {Lasts: onceLasts, Level: Mandatory, Required: &yes, Message: "Commit this?", Show: []string{"diff", "tests", "review"}},
		"prd_review":          {Level: Mandatory, Message: "Approve these requirements?", Show: []string{"plan"}},
		"design_review":       {Level: Mandatory, Message: "Approve this design?", Show: []string{"plan"}},
		"code_review":         {Level: Mandatory, Message: "Approve this code?", Show: []string{"diff", "review"}},
		"test_review":         {Level: Mandatory, Message: "Approve these tests?", Show: []string{"tests"}},
		"deployment_approval": {Lasts: onceLasts, Level: Mandatory, Required: &yes, Message: "Deploy this?", Show: []string{"diff", "tests"}},
		GateConstraint: {Level: Advisory, Message: "The task cannot be done within its constraints. How should it go on?", Options: []holdgate.Option{
			{ID: "expand", Label: "Expand the constraint", Effect: holdgate.EffectApprove},
			{ID: "reduce", Label: "Reduce the scope", Effect: holdgate.EffectApprove},
			{ID: "abort", Label: "Abort the task", Effect: holdgate.EffectDeny},
		}},
		GateQuestion:    {Level: Mandatory, Message: "The agent asks a question. Steer it with your answer, or approve to let it go on as it thinks best."},
		GateConfidence:  {Level: Conditional, Message: "The agent is not sure enough of its work. Let it go on?", Show: []string{"tests"}},
		GateDiagnostics: {Level: Mandatory, Required: &yes, Message: "The agent does not trust its work at all, and its session is paused. Let it go on?"},
	}
}

// Known are the names of the types that are known without configuration, sorted.
func Known() []string { return slices.Sorted(maps.Keys(own())) }

// Gates are the types of gate by name.
type Gates map[string]Gate

// NewGates lays a configuration over the types that are known. Types that are
// not are new ones.
func NewGates(configured map[string]Gate) (Gates, error) {
	all := Gates(own())
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		if err := CheckGate(name); err != nil {
			return nil, err
		}
		c := configured[name]
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("gates.%s.%w", name, err)
		}
		all[name] = all.Of(name).under(c)
		if g := all[name]; g.OnTimeout == holdgate.TimeoutApprove && g.Required != nil && *g.Required {
			return nil, fmt.Errorf("gates.%s.%w", name, wrong("on_timeout", "cannot be approve where a person is required: say required: false, or leave it out"))
		}
	}
	return all, nil
}

func (g Gate) check() error {
	switch g.Level {
	case "", Mandatory, Conditional, Advisory:
	default:
		return wrong("level", "must be mandatory, conditional or advisory, not %q", g.Level)
	}
	for _, s := range g.Show {
		if !slices.Contains([]string{"plan", "diff", "tests", "review"}, s) {
			return wrong("show", "must be of plan, diff, tests and review, not %q", s)
		}
	}
	for _, s := range g.Sessions {
		if _, err := path.Match(s, ""); err != nil {
			return wrong("sessions", "%q is no pattern", s)
		}
	}
	if g.Timeout < 0 {
		return wrong("timeout", "must not be negative")
	}
	return g.When.check()
}

// under is the gate with the settings of another added, which win.
func (g Gate) under(o Gate) Gate {
	if o.Enabled != nil {
		g.Enabled = o.Enabled
	}
	if o.Level != "" {
		g.Level = o.Level
	}
	if o.Message != "" {
		g.Message = o.Message
	}
	if o.Timeout > 0 {
		g.Timeout = o.Timeout
	}
	if o.Show != nil {
		g.Show = o.Show
	}
	if o.Edits != nil {
		g.Edits = o.Edits
	}
	if len(o.Options) > 0 {
		g.Options = o.Options
	}
	if o.Sessions != nil {
		g.Sessions = o.Sessions
	}
	if o.Required != nil {
		g.Required = o.Required
	}
	if o.Lasts > 0 {
		g.Lasts = o.Lasts
	}
	if o.When != nil {
		g.When = o.When
	}
	g.OnTimeout = o.OnTimeout
	return g
}

// Of returns a type of gate. One that nobody has configured is mandatory.
func (all Gates) Of(name string) Gate {
	if g, ok := all[name]; ok {
		return g
	}
	return Gate{Level: Mandatory}
}

// On lists the gates at which traffic of a session stops by itself, sorted, and
// those that must be passed before the session changes anything.
func (all Gates) On(session string) (on, needed []string) {
	for name, g := range all {
		if g.Enabled != nil && !*g.Enabled {
			continue
		}
		if g.Enabled != nil && !g.advises() {
			on = append(on, name)
		}
		if slices.ContainsFunc(g.Sessions, func(p string) bool { return named(p, session) }) {
			needed = append(needed, name)
		}
	}
	slices.Sort(on)
	slices.Sort(needed)
	return on, needed
}

// named reports whether a session's name is as the pattern says. A slash in it is
// a letter like others.
func named(pattern, session string) bool {
	plain := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, _ := path.Match(plain(pattern), plain(session))
	return ok
}

// BindsAll reports whether every session must pass the gate, however it is named.
func (all Gates) BindsAll(name string) bool {
	return all.Binds(name) && slices.Contains(all.Of(name).Sessions, "*")
}

// Binds reports whether sessions that are named so must pass the gate.
func (all Gates) Binds(name string) bool {
	g := all.Of(name)
	return len(g.Sessions) > 0 && (g.Enabled == nil || *g.Enabled)
}

// Told lists the advisory gates of which people are told when traffic is at them,
// sorted.
func (all Gates) Told() (told []string) {
	for name, g := range all {
		if g.Enabled != nil && *g.Enabled && g.advises() {
			told = append(told, name)
		}
	}
	slices.Sort(told)
	return told
}

// advises reports whether the gate holds nothing: one with options is a choice,
// which somebody has to make.
func (g Gate) advises() bool { return g.Level == Advisory && len(g.Options) == 0 }

var goodGate = regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,63}$`)

// Passed lists the gates that a session has passed, as far as that still counts.
func (all Gates) Passed(r *Record, now time.Time) []string {
	var passed []string
	for _, p := range r.Passed {
		if lasts := all.Of(p.Gate).Lasts; lasts == 0 || now.Sub(p.At) < lasts {
			passed = append(passed, p.Gate)
		}
	}
	return passed
}

// CheckGate returns a [*FieldError] for a name that no type of gate can have.
func CheckGate(name string) error {
	if !goodGate.MatchString(name) {
		return wrong("type", "must be a gate's name, such as before_commit: a-z, 0-9, '_', '-' and '.', at most 64 characters")
	}
	return nil
}
