package rego

import (
	"context"
	jsonv1 "encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
	"github.com/holdgate/holdgate/rego/schema"
)

// written is what Eval itself reads of input.
type written struct {
	Kind holdgate.Kind `json:"kind"`
	Time time.Time     `json:"time"`
	Tool *struct {
		Name         string         `json:"name"`
		Server       string         `json:"server"`
		Arguments    jsontext.Value `json:"arguments"`
		ArgumentsRaw string         `json:"arguments_raw"`
	} `json:"tool"`
	HTTP *struct {
		Method         string   `json:"method"`
		Scheme         string   `json:"scheme"`
		Host           string   `json:"host"`
		Path           string   `json:"path"`
		Query          string   `json:"query"`
		MethodOverride string   `json:"method_override"`
		Unresolved     []string `json:"unresolved"`
		Upgrade        string   `json:"upgrade"`
		Action         string   `json:"action"`
		Operation      string   `json:"operation"`
		LooksLike      string   `json:"looks_like"`

		Body *holdgate.HTTPBody `json:"-"`
	} `json:"http"`
	Session struct {
		Dir string `json:"cwd"`
	} `json:"session"`
	Answers []struct {
		Gate     string          `json:"gate"`
		Rule     string          `json:"rule"`
		Decision holdgate.Answer `json:"decision"`
		Choice   string          `json:"choice"`
		By       string          `json:"by"`
		Also     []string        `json:"also"`
	} `json:"answers"`
}

// Eval decides on input as the policy contract writes it, for trying policies
// out. Where they are missing it adds facts, the tool's category, the mode and
// the time. An error means that the input cannot be read; all else is a
// decision.
func (e *Engine) Eval(ctx context.Context, input []byte) (holdgate.Decision, error) {
	w, o, err := readWritten(input)
	if err != nil {
		return holdgate.Decision{}, fmt.Errorf("reading input: %w", err)
	}
	if w.Time.IsZero() {
		w.Time = time.Now()
		o["time"] = w.Time.UTC().Format(time.RFC3339Nano)
	}
	answers := make([]Answer, len(w.Answers))
	for i, a := range w.Answers {
		answers[i] = Answer(a)
	}
	p := e.current.Load()
	query := &p.query
	if _, ok := o["result"]; ok {
		if p.results == nil {
			return holdgate.Decision{Action: holdgate.Allow, Rule: ruleDefault, Reason: "The policy does not look at results.", Revision: p.loaded.Revision}, nil
		}
		query = p.results
	}
	return e.decide(ctx, p, query, answers, func() (ast.Value, time.Time, error) {
		w.complete(ctx, o, p)
		return ast.LazyObject(o), w.Time, nil
	}), nil
}

// Facts are what [Engine.Eval] adds to an input as its facts, or those that stand there.
func (e *Engine) Facts(ctx context.Context, input []byte) ([]byte, error) {
	w, o, err := readWritten(input)
	if err != nil {
		return nil, fmt.Errorf("reading input: %w", err)
	}
	w.complete(ctx, o, e.current.Load())
	found := o["facts"]
	if v, ok := found.(ast.Value); ok {
		if found, err = ast.JSON(v); err != nil {
			return nil, fmt.Errorf("writing the facts: %w", err)
		}
	}
	text, err := jsonv1.Marshal(found) // numbers of the engine are of its kind
	if err != nil {
		return nil, fmt.Errorf("writing the facts: %w", err)
	}
	return text, nil
}

// readWritten reads an input, and checks that it has only what policies can see.
func readWritten(input []byte) (*written, object, error) {
	v, err := strictJSON(input)
	if err != nil {
		return nil, nil, err
	}
	o, ok := v.(object)
	if !ok {
		return nil, nil, errors.New("want an object")
	}
	if err := checkInput(o); err != nil {
		return nil, nil, err
	}
	w := new(written)
	if err := json.Unmarshal(input, w); err != nil {
		return nil, nil, err
	}
	return w, o, nil
}

// checkInput makes sure that input has only what policies can see: a word that they
// do not know would leave the call without what it says.
func checkInput(o object) error {
	s, err := schema.Input()
	if err != nil {
		return err
	}
	f := schema.Fitting{Partly: true}
	f.Check(o, s, nil)
	list := make([]error, len(f.Found))
	for i, m := range f.Found {
		list[i] = fmt.Errorf("%s: %s", m.Where("input"), m.Text)
	}
	return errors.Join(list...)
}

// complete adds to input what Holdgate works out by itself.
func (w *written) complete(ctx context.Context, o object, p *policy) {
	agent := objectIn(o, "agent")
	setDefault(agent, "id", holdgate.AgentDefault)
	setDefault(agent, "proven", false)
	confined := objectIn(o, "confinement")
	if level, ok := confined["level"].(string); ok && level != "none" {
		setDefault(agent, "confinement", level)
	}
	level, _ := agent["confinement"].(string)
	setDefault(confined, "level", confinementLevel(level))
	for _, proof := range []string{"undo", "private", "hidden", "network", "keys"} {
		setDefault(confined, proof, false)
	}
	session := objectIn(o, "session")
	setDefault(session, "id", holdgate.SessionDefault)
	setDefault(session, "mode", modeAuto)
	setDefault(o, "door", "")
	c := holdgate.Call{Kind: w.Kind}
	if w.Tool != nil {
		c.Tool = &holdgate.Tool{Name: w.Tool.Name, Server: w.Tool.Server, ArgumentsRaw: w.Tool.ArgumentsRaw}
		if w.Tool.Arguments.Kind() == '{' {
			c.Tool.Arguments = []byte(w.Tool.Arguments)
		}
	}
	if w.HTTP != nil {
		c.HTTP = (*holdgate.HTTP)(w.HTTP)
		if http, ok := o["http"].(object); ok {
			if name := p.operation(c.HTTP); name != "" {
				setDefault(http, "operation", name)
			}
		}
	}
	if _, ok := o["facts"]; ok {
		return
	}
	f := facts.Extract(ctx, c, facts.Options{Dir: w.Session.Dir, Categories: p.toolCategories()})
	if p.readsEffects {
		f.Effects = p.effects(c, f)
	}
	o["facts"] = factsObject(f, p.tables)
	if w.Tool != nil {
		setDefault(objectIn(o, "tool"), "category", f.Category)
	}
}

// objectIn returns the object under a name, which is made where it is missing.
func objectIn(o object, name string) object {
	if part, ok := o[name].(object); ok {
		return part
	}
	part := object{}
	o[name] = part
	return part
}

func setDefault(o object, name string, v any) {
	if _, ok := o[name]; !ok {
		o[name] = v
	}
}
