package agentapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
)

// Bounds of what an agent sends.
const (
	maxMessage   = 8 << 10
	maxContext   = 256 << 10
	maxOptions   = 20
	maxLabel     = 500
	maxArtifacts = 100
	maxArtifact  = 1000
	maxTimeout   = 7 * 24 * time.Hour
)

func wrong(field, format string, args ...any) error {
	return &sessions.FieldError{Field: field, What: fmt.Sprintf(format, args...)}
}

// ParseDuration reads a text such as "30s", or a number of seconds.
func ParseDuration(s string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil && f >= 0 && f <= maxTimeout.Seconds() {
		return time.Duration(f * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > maxTimeout {
		return 0, fmt.Errorf("%q is no time such as 30s or 10m, at most a week", s)
	}
	return d, nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (d *Duration) UnmarshalJSON(b []byte) error {
	v, err := ParseDuration(strings.Trim(string(b), `"`))
	*d = Duration(v)
	return err
}

// MarshalJSON implements [json.Marshaler].
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON implements [json.Unmarshaler].
func (o *Option) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		if err := json.Unmarshal(b, &o.ID); err != nil {
			return err
		}
		o.Label = o.ID
		return nil
	}
	type plain Option
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode((*plain)(o))
}

// Gate is what is asked for as a call has it. It returns a [*sessions.FieldError]
// for what is wrong.
func (a GateRequest) Gate() (*holdgate.Gate, error) {
	g := &holdgate.Gate{Type: a.Type, Kind: a.Kind, Message: a.Message, Artifacts: a.Artifacts}
	switch {
	case a.Type == "":
		return nil, wrong("type", "is missing: the gate's name, such as before_commit")
	case a.Type == sessions.GateDiagnostics:
		return nil, wrong("type", "is a gate that only Holdgate opens")
	}
	if err := sessions.CheckGate(a.Type); err != nil {
		return nil, err
	}
	if err := text("message", a.Message, maxMessage); err != nil {
		return nil, err
	}
	if len(a.Artifacts) > maxArtifacts {
		return nil, wrong("artifacts", "must be at most %d", maxArtifacts)
	}
	for i, s := range a.Artifacts {
		if err := text(fmt.Sprintf("artifacts[%d]", i), s, maxArtifact); err != nil {
			return nil, err
		}
	}
	if err := a.choice(g); err != nil {
		return nil, err
	}
	if c := bytes.TrimSpace(a.Context); len(c) > 0 && !bytes.Equal(c, []byte("null")) {
		if c[0] != '{' || len(c) > maxContext {
			return nil, wrong("context", "must be an object of at most %d bytes", maxContext)
		}
		g.Context = c
	}
	if a.Timeout != nil {
		if g.Timeout = time.Duration(*a.Timeout); g.Timeout < time.Second {
			return nil, wrong("timeout", "must be a second at least")
		}
	}
	return g, nil
}

// asksForText reports whether an option's label is the one by which people know
// that the answer is a text of their own.
func asksForText(label string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(label)), "other")
	return ok && (rest == "..." || rest == "…")
}

// choice takes the options over.
func (a GateRequest) choice(g *holdgate.Gate) error {
	switch a.Kind {
	case "", holdgate.RequestApproval:
	case holdgate.RequestChoice:
		if len(a.Options) == 0 {
			return wrong("options", "are missing: a choice needs some")
		}
	default:
		return wrong("kind", "must be approval or choice")
	}
	if len(a.Options) > maxOptions {
		return wrong("options", "must be at most %d", maxOptions)
	}
	seen := map[string]bool{}
	for i, o := range a.Options {
		field := fmt.Sprintf("options[%d]", i)
		if o.ID == "" || seen[o.ID] {
			return wrong(field+".id", "must be there, and no other's")
		}
		seen[o.ID] = true
		if o.Label == "" {
			o.Label = o.ID
		}
		o.Other = o.Other || asksForText(o.Label)
		for name, s := range map[string]string{".id": o.ID, ".label": o.Label} {
			if err := text(field+name, s, maxLabel); err != nil {
				return err
			}
		}
		switch o.Effect {
		case "", holdgate.EffectApprove, holdgate.EffectDeny, holdgate.EffectSteer:
		default:
			return wrong(field+".effect", "must be approve, deny or steer")
		}
		g.Options = append(g.Options, holdgate.Option(o))
	}
	if len(g.Options) > 0 {
		g.Kind = holdgate.RequestChoice
	}
	return nil
}

func text(field, s string, most int) error {
	if len(s) > most || !utf8.ValidString(s) {
		return wrong(field, "must be a text of at most %d bytes", most)
	}
	return nil
}

// Stored is a report as sessions keep it.
func (r Report) Stored() (sessions.Report, error) {
	if r.Score == nil {
		return sessions.Report{}, wrong("score", "is missing: from 0 to 1, or from 0 to 100")
	}
	out := sessions.Report{Task: r.Task, Source: sessions.SourceAgent, Reasons: r.Reasons, Verification: r.Verification, Retries: r.Retries}
	var err error
	if out.Score, err = sessions.Fraction("score", *r.Score); err != nil {
		return out, err
	}
	if v := r.Verification; v != nil && v.Confidence != nil {
		f, err := sessions.Fraction("verification.confidence", *v.Confidence)
		if err != nil {
			return out, err
		}
		c := *v
		c.Confidence = &f
		out.Verification = &c
	}
	for field, s := range map[string]string{"agent": r.Agent, "session_id": r.SessionID} {
		if err := text(field, s, 128); err != nil {
			return out, err
		}
	}
	return out, out.Check()
}

// Call is the planned call as policy sees it. It returns a [*sessions.FieldError]
// for what is wrong.
func (p Planned) Call() (*holdgate.Tool, error) {
	for field, s := range map[string]string{"tool": p.Tool, "server": p.Server} {
		if err := text(field, s, maxLabel); err != nil {
			return nil, err
		}
	}
	if p.Tool == "" {
		return nil, wrong("tool", "is missing: the tool's name")
	}
	t := &holdgate.Tool{Name: p.Tool, Server: p.Server, Arguments: []byte("{}")}
	if a := bytes.TrimSpace(p.Arguments); len(a) > 0 && !bytes.Equal(a, []byte("null")) {
		if a[0] != '{' || len(a) > maxContext {
			return nil, wrong("arguments", "must be an object of at most %d bytes", maxContext)
		}
		t.Arguments = a
	}
	return t, nil
}
