package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/learn"
	"github.com/holdgate/holdgate/store/audit"
)

const (
	reviewDays = 30
	maxPasses  = 100 // calls that a review names
)

// logOf is the audit log from a time on.
func (a *App) logOf(since time.Time) learn.Log {
	return func(ctx context.Context, fn func(audit.Entry) error) error {
		from := uint64(0)
		if !since.IsZero() {
			var err error
			if from, err = a.audit.At(ctx, since); err != nil {
				return err
			}
		}
		return a.audit.Each(ctx, audit.Query{Since: since, From: from}, fn)
	}
}

// Draft implements [api.Policies].
func (p policies) Draft(ctx context.Context, request, kind string) (api.PolicyDraft, error) {
	list, err := p.a.audit.Query(ctx, audit.Query{RequestID: request, Type: audit.TypeDecision, Limit: 1})
	if err != nil {
		return api.PolicyDraft{}, err
	}
	if len(list) == 0 || !learn.Judged(list[0]) {
		return api.PolicyDraft{}, &api.PolicyRefusedError{Text: "the log has no decision about this request"}
	}
	d, err := learn.Draft(ctx, p.a.engine, learn.PastOf(list[0], Own(p.a.c)), learn.DraftKind(kind))
	if errors.Is(err, learn.ErrDraft) {
		return api.PolicyDraft{}, &api.PolicyRefusedError{Text: err.Error()}
	}
	if err != nil {
		return api.PolicyDraft{}, err
	}
	return api.PolicyDraft{Name: d.Name, Files: d.Files}, p.keepExceptions(ctx, d.Files)
}

// keepExceptions puts the exceptions that were pushed before into the files beside new
// ones.
func (p policies) keepExceptions(ctx context.Context, files map[string]string) error {
	more, has := files[learn.ExceptionsFile]
	now, err := p.a.pushed(ctx)
	if err != nil || now == nil || !has || now.Files[learn.ExceptionsFile] == "" {
		return err
	}
	files[learn.ExceptionsFile], err = learn.WithExceptions(now.Files[learn.ExceptionsFile], more)
	return err
}

// with are the files of a push, beside those that were pushed last where it adds.
func (p policies) with(ctx context.Context, in api.PolicyPush) (map[string]string, error) {
	if !in.Add {
		return in.Files, nil
	}
	files := map[string]string{}
	now, err := p.a.pushed(ctx)
	if err != nil {
		return nil, err
	}
	if now != nil {
		maps.Copy(files, now.Files)
	}
	maps.Copy(files, in.Files)
	return files, nil
}

// Review implements [api.Policies].
func (p policies) Review(ctx context.Context, in api.PolicyPush) (api.PolicyReview, error) {
	files, err := p.with(ctx, in)
	if err != nil {
		return api.PolicyReview{}, err
	}
	proposal, err := p.a.engine.Propose(ctx, &rego.Pushed{Name: in.Name, Files: files})
	if err != nil {
		return api.PolicyReview{}, &api.PolicyRefusedError{Text: err.Error()}
	}
	r := api.PolicyReview{Revision: proposal.Load.Loaded.Revision, Change: proposal.Load.Change.String(), MayLoosen: proposal.Load.Change.MayLoosen, Tests: proposal.Tests,
		Since: time.Now().AddDate(0, 0, -reviewDays).UTC().Truncate(time.Second), Table: []api.PolicyChange{}, Passes: []api.PolicyPass{}}
	own := Own(p.a.c)
	replay, err := learn.RunBy(ctx, proposal.Judge, p.a.logOf(r.Since), own)
	if err != nil {
		return r, fmt.Errorf("judging past calls: %w", err)
	}
	r.Calls, r.Same, r.Changed, r.Unknown = replay.Calls, replay.Same, replay.Changed, replay.Unknown
	for _, row := range replay.Table {
		r.Table = append(r.Table, api.PolicyChange(row))
	}
	passes, err := learn.RefusedThatPass(ctx, proposal.Judge, p.a.logOf(time.Time{}), own)
	if err != nil {
		return r, fmt.Errorf("judging calls that were refused: %w", err)
	}
	r.Refused, r.RefusedUnknown, r.Passing = passes.Refused, passes.Unknown, passes.Passing
	for _, n := range passes.List[:min(len(passes.List), maxPasses)] {
		r.Passes = append(r.Passes, api.PolicyPass{Seq: n.Seq, Time: n.Time, RequestID: n.RequestID, What: n.What, WasRule: n.WasRule})
	}
	return r, nil
}

// Suggest implements [api.Policies].
func (p policies) Suggest(ctx context.Context) (api.PolicySuggestions, error) {
	s, err := learn.Suggest(ctx, p.a.engine, p.a.logOf(time.Time{}), learn.SuggestOptions{Own: Own(p.a.c), Since: time.Now().AddDate(0, 0, -reviewDays)})
	if err != nil {
		return api.PolicySuggestions{}, fmt.Errorf("looking for suggestions: %w", err)
	}
	out := api.PolicySuggestions{Questions: s.Questions, Spares: s.Spares, Denied: s.Denied, Suggestions: []api.PolicySuggestion{}}
	for _, x := range s.List {
		text, err := yaml.Marshal(map[string]any{"settings": map[string]any{"exceptions": []rego.Exception{x.Exception}}})
		if err != nil {
			return out, err
		}
		one := learn.Suggestions{List: []learn.Suggestion{x}}
		tests, err := one.Tests()
		if err != nil {
			return out, err
		}
		files := map[string]string{learn.ExceptionsFile: string(text), fmt.Sprintf("suggested_%d_test.rego", x.Example): strings.Replace(tests, "suggested_test", fmt.Sprintf("suggested_%d_test", x.Example), 1)}
		if err := p.keepExceptions(ctx, files); err != nil {
			return out, err
		}
		out.Suggestions = append(out.Suggestions, api.PolicySuggestion{Rule: x.Exception.Rule, Tool: x.Exception.Match.Tool, About: x.Exception.Match.About, Spares: x.Spares, WholeTool: x.WholeTool, Files: files})
	}
	return out, nil
}
