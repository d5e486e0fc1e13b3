package rego

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/holdgate/holdgate/rego/settings"
)

// An Exception lifts a rule of the shipped pack, or of those over it, as
// data.settings.exceptions does.
type Exception struct {
	Rule   string         `json:"rule" yaml:"rule"`
	Match  ExceptionMatch `json:"match" yaml:"match"`
	Reason string         `json:"reason" yaml:"reason"`
}

// ExceptionMatch narrows an exception. Empty fields match all.
type ExceptionMatch struct {
	Agent string   `json:"agent,omitempty" yaml:"agent,omitempty"`
	Tool  string   `json:"tool,omitempty" yaml:"tool,omitempty"` // "tool" or "server/tool"
	About []string `json:"about,omitempty" yaml:"about,omitempty,flow"`
}

func (x Exception) object() object {
	match := object{}
	putText(match, "agent", x.Match.Agent)
	putText(match, "tool", x.Match.Tool)
	if len(x.Match.About) > 0 {
		about := make([]any, len(x.Match.About))
		for i, thing := range x.Match.About {
			about[i] = thing
		}
		match["about"] = about
	}
	return object{"rule": x.Rule, "match": match, "reason": x.Reason}
}

// With is an engine of the policy in force with further exceptions in its
// settings, to try them out: it watches nothing.
func (e *Engine) With(ctx context.Context, exceptions []Exception) (*Engine, error) {
	p := e.current.Load()
	if p.loaded.Whole {
		return nil, errors.New("exceptions are the shipped pack's, and this policy replaces it")
	}
	lifted, err := p.except(ctx, exceptions)
	if err != nil {
		return nil, fmt.Errorf("laying exceptions over the policy: %w", err)
	}
	tried := &Engine{o: e.o, spec: e.spec}
	tried.current.Store(lifted)
	return tried, nil
}

// except is the policy with further exceptions. Rules do not change by data, so
// nothing is compiled anew.
func (p *policy) except(ctx context.Context, exceptions []Exception) (*policy, error) {
	data, own := maps.Clone(p.data), object{}
	if s, ok := p.data[rootSettings].(object); ok {
		own = maps.Clone(s)
	}
	data[rootSettings] = own
	list, _ := own["exceptions"].([]any)
	list = slices.Clone(list)
	for _, x := range exceptions {
		list = append(list, x.object())
	}
	own["exceptions"] = list
	store := inmem.NewFromObjectWithOpts(data, inmem.OptReturnASTValuesOnRead(true))
	query, err := prepare(ctx, p.compiler, store, entry)
	if err != nil {
		return nil, err
	}
	return &policy{
		loaded: p.loaded, query: query, results: p.results, state: p.state, data: data, own: p.own, rules: p.rules, askers: p.askers,
		readsArguments: p.readsArguments, readsEffects: p.readsEffects, readsParams: p.readsParams, readsBody: p.readsBody, readsHistory: p.readsHistory, readsUsage: p.readsUsage, readsRepeats: p.readsRepeats, readsClock: p.readsClock,
		reads: p.reads, compiler: p.compiler, store: store, services: p.services, tables: p.tables, settings: settings.ReadTools(data),
	}, nil
}
