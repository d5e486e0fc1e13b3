package config

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
)

// Sessions says how sessions of agents begin.
type Sessions struct {
	Mode      string  `yaml:"mode"`                 // auto, manual or confidence_threshold
	Threshold float64 `yaml:"confidence_threshold"` // from 0 to 1, or from 0 to 100; 0: the policy's
}

// Run says what `holdgate run` does without being told so by flags. Paths are
// absolute, below the home folder with ~/, or below the working folder.
type Run struct {
	Undo    bool     `yaml:"undo"`    // --undo
	Private *bool    `yaml:"private"` // --private; nil: with undo
	Keep    []string `yaml:"keep"`    // --keep
	Show    []string `yaml:"show"`    // --show
	Later   []string `yaml:"later"`   // what runs later by itself and may be changed unasked all the same, with undo
	// Telemetry leaves that of agents as it is; else their own variables switch it off.
	Telemetry bool `yaml:"telemetry"`
}

// Setting is how sessions begin.
func (s Sessions) Setting() (sessions.Setting, error) {
	t, err := sessions.Fraction("confidence_threshold", s.Threshold)
	if err != nil {
		return sessions.Setting{}, err
	}
	set := sessions.Setting{Mode: sessions.Mode(s.Mode), Threshold: t}
	return set, set.Check()
}

// Confidence says what becomes of agents' reports of how sure they are.
type Confidence struct {
	Enabled      bool    `yaml:"enabled"`       // policy is told of them
	AutoEscalate bool    `yaml:"auto_escalate"` // those below the threshold open a gate
	Threshold    float64 `yaml:"threshold"`     // from 0 to 1, or from 0 to 100
}

// Line is the threshold from 0 to 1.
func (c Confidence) Line() (float64, error) { return sessions.Fraction("threshold", c.Threshold) }

// Gate is one type of gate, as the file says it.
type Gate struct {
	sessions.Gate `yaml:",inline"`

	Timeout   Duration     `yaml:"timeout"`
	OnTimeout string       `yaml:"on_timeout"` // "deny" or "approve"
	Options   []GateOption `yaml:"options"`
	Lasts     Duration     `yaml:"lasts"` // how long it stays passed
}

// GateOption is one answer of a gate that is a choice.
type GateOption struct {
	ID     string `yaml:"id"`
	Label  string `yaml:"label"`
	Effect string `yaml:"effect"` // "approve", which is the default, "deny" or "steer"
}

// UnmarshalYAML implements [yaml.Unmarshaler]: a whole gate can be switched by a
// single true or false.
func (g *Gate) UnmarshalYAML(n *yaml.Node) error {
	var on bool
	if n.Kind == yaml.ScalarNode && n.Decode(&on) == nil {
		g.Enabled = &on
		return nil
	}
	type plain Gate
	return n.Decode((*plain)(g))
}

// Types are the types of gate as the configuration says them.
func (c Config) Types() (sessions.Gates, error) {
	all := map[string]sessions.Gate{}
	for name, g := range c.Gates {
		out := g.Gate
		out.Timeout, out.Lasts = time.Duration(g.Timeout), time.Duration(g.Lasts)
		for _, o := range g.Options {
			out.Options = append(out.Options, holdgate.Option{ID: o.ID, Label: o.Label, Effect: o.Effect})
		}
		if g.OnTimeout == "approve" {
			out.OnTimeout = holdgate.TimeoutApprove
		}
		all[name] = out
	}
	return sessions.NewGates(all)
}

// gates checks the types of gate, and how sessions begin.
func (f *faults) gates(c Config) {
	if _, err := c.Sessions.Setting(); err != nil {
		f.add("sessions: %v", err)
	}
	if _, err := c.Confidence.Line(); err != nil {
		f.add("confidence.%v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Gates)) {
		g := c.Gates[name]
		key := "gates." + name
		f.ownGate(key, name, g.Gate)
		f.oneOrNone("gates.*.on_timeout", key+".on_timeout", g.OnTimeout)
		for _, o := range g.Options {
			if o.ID == "" || o.Label == "" {
				f.add("%s.options: each needs an id and a label", key)
			}
			f.oneOrNone("gates.*.options[].effect", key+".options", o.Effect)
		}
		if g.Timeout < 0 || g.Lasts < 0 {
			f.add("%s: timeout and lasts must not be negative", key)
		}
	}
	if _, err := c.Types(); err != nil {
		f.add("%v", err)
	}
}

// ownGate makes sure that a gate of a new name is one: a slip in the name of one that
// is known would leave that one as it was.
func (f *faults) ownGate(key, name string, g sessions.Gate) {
	known := sessions.Known()
	if slices.Contains(known, name) || g.Message != "" || len(g.Sessions) > 0 || g.When != nil {
		return
	}
	hint := "for a gate of your own give it a message"
	if near := holdgate.Closest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q? For a gate of your own give it a message", near)
	}
	f.add("%s: no gate has this name, and nothing says what it asks: %s", key, hint)
}
