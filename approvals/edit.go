package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate/approvals/redact"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

// editable reports whether a person can change the call's arguments: they are
// a JSON object and all of it is shown.
func editable(c holdgate.Call, hidden int) bool {
	return c.Tool != nil && c.Tool.Arguments != nil && hidden == 0 && c.Result == nil
}

// redactions lists what policy redacts of the request's call with other
// arguments: all of it where policy cannot say.
func (q *Queue) redactions(ctx context.Context, id string, args json.RawMessage) ([]string, error) {
	if q.c.Redactions == nil {
		return nil, nil
	}
	r, err := q.request(ctx, id)
	if err != nil {
		return nil, err
	}
	pointers, err := q.c.Redactions(ctx, withArguments(r, args))
	if err != nil {
		q.c.Logger.ErrorContext(ctx, "all of an edit is hidden: policy did not say what to redact of it", "approval", id, "err", err)
		return []string{""}, nil
	}
	return pointers, nil
}

// withArguments is the request's call as an edit would make it.
func withArguments(r *record.StoredRequest, args json.RawMessage) holdgate.Call {
	c := holdgate.Call{
		ID: r.Call.ID, Kind: r.Call.Kind, Position: r.Call.Position, Door: r.Door, Time: time.Now(),
		Agent:   holdgate.Agent{ID: r.Agent, Proven: r.Proven, Confinement: r.Confinement, Proofs: r.Proofs, Labels: maps.Clone(r.Labels)},
		Session: holdgate.Session{ID: r.Session},
		Tool:    &holdgate.Tool{Name: r.Call.Tool, Server: r.Call.Server, Arguments: args},
	}
	if r.Owner != "" {
		if c.Agent.Labels == nil {
			c.Agent.Labels = make(map[string]string)
		}
		c.Agent.Labels[record.LabelOwner] = r.Owner
	}
	return c
}

// besidesOwner are the labels of an agent that are stored with a request: the owner has a
// member of their own there.
func besidesOwner(labels map[string]string) map[string]string {
	rest := maps.Clone(labels)
	if delete(rest, record.LabelOwner); len(rest) == 0 {
		return nil
	}
	return rest
}

// An Answered is what a person would have answered to a request with an edit.
type Answered struct {
	Gate, Rule string
	By         string   // empty: policy is asked about the call as nobody has answered for it
	Also       []string // other rules that the request asks for
	Dir        string   // in which the call starts; empty where that is not known
}

// A Judged is what policy says of a request's call as an edit would make it.
type Judged struct {
	// Decision is policy's once the editor has answered: what the editor was asked about
	// already asks nothing more.
	holdgate.Decision
	// Risk is that of the edited call by itself, whoever has answered for it. It is low where
	// no rule asks about it, and not below the request's own where policy is told too little
	// here to find that.
	Risk holdgate.Risk
	// Summary and Target are what a briefing says of the edited call: see [Request.Target].
	Summary, Target string
}

// Judge says what the policy of this moment would say of a pending request's call with
// other arguments, given that by answers with them. Nothing is decided or logged, and
// policy is asked again when the edited call goes on: what only the agent's connection knows
// is not known here. It returns ErrNotFound, *EndedError, ErrNotEntitled where by may not edit
// the call, or ErrAnswer, where nobody can or too little is known of it: policy would refuse it
// unchanged too.
func (q *Queue) Judge(ctx context.Context, id, by string, args json.RawMessage) (Judged, error) {
	r, err := q.request(ctx, id)
	if err != nil {
		return Judged{}, err
	}
	if r.Status.Final() {
		return Judged{}, &EndedError{Request: r.View(q.People())}
	}
	editor, err := editorOf(r, q.People(), by)
	switch {
	case err != nil:
		return Judged{}, err
	case !r.Call.IsTool || q.c.Judge == nil:
		return Judged{}, fmt.Errorf("%w: policy cannot be asked about an edit of it", ErrAnswer)
	}
	asked := Answered{Gate: r.Gate, Rule: r.Rule}
	for _, f := range r.Also {
		asked.Also = append(asked.Also, f.Rule)
	}
	if r.Similarity != nil {
		asked.Dir, _, _ = strings.Cut(r.Similarity.Dir, "\n")
	}
	answered, edited, unchanged := asked, withArguments(r, args), withArguments(r, r.Call.Arguments)
	answered.By = editor.Name
	j := Judged{Decision: q.c.Judge(ctx, edited, answered)}
	if j.Action == holdgate.Deny && q.c.Judge(ctx, unchanged, answered).Action == holdgate.Deny {
		return Judged{}, errUnjudged
	}
	j.about(r, edited, q.c.Judge(ctx, edited, asked), q.c.Judge(ctx, unchanged, asked))
	return j, nil
}

// editorOf is the person who may edit the request's call, or the error that says why they may
// not. Who must sign the edit does so when it is sent.
func editorOf(r *record.StoredRequest, p *people.People, by string) (people.Person, error) {
	n, err := p.MayAnswer(by)
	if err != nil {
		return n, err
	}
	if err := r.Eligibility(p).Refuses(n); err != nil {
		return n, err
	}
	return n, takes(r, Vote{Decision: holdgate.AnswerEdit, Digest: r.Call.Digest})
}

// about says what the edited call is by itself, from what policy decides of it and of the call
// unchanged while nobody has answered for either.
func (j *Judged) about(r *record.StoredRequest, edited holdgate.Call, d, unchanged holdgate.Decision) {
	switch j.Risk = d.Risk; d.Action {
	case holdgate.Allow:
		j.Risk = holdgate.RiskLow
	case holdgate.Deny:
		j.Risk = "" // the editor's answer alone lets it go on
	}
	// Where policy does not find here why the call was held, it may miss the same of the edit.
	if unchanged.Action != holdgate.Hold || unchanged.Rule != r.Rule || record.Graver(unchanged.Risk, r.Risk) != unchanged.Risk ||
		slices.ContainsFunc(r.Also, func(also holdgate.Finding) bool {
			return also.Rule != unchanged.Rule && !found(unchanged.Also, also.Rule)
		}) {
		j.Risk = record.Graver(j.Risk, r.Risk)
	}
	told := Request{ID: r.ID, Gate: r.Gate, Call: record.CallView{Tool: &record.ToolView{Name: r.Call.Tool, Server: r.Call.Server}}, Briefing: Brief(edited, d)}
	j.Summary, j.Target = told.Briefing.Summary, told.Target()
}

// found reports whether a rule is among those that found something.
func found(findings []holdgate.Finding, rule string) bool {
	return slices.ContainsFunc(findings, func(f holdgate.Finding) bool { return f.Rule == rule })
}

// errUnjudged says that a denial of an edit may come of what is not known of the call here.
var errUnjudged = fmt.Errorf("%w: too little is known of the call for policy to judge an edit of it before it goes on", ErrAnswer)

// permits returns ErrEditRefused where policy refuses an edit, which then does not count: the
// request waits on, and the person still has what they typed. Its words are for somebody who
// may edit the call.
func (q *Queue) permits(ctx context.Context, id string, v Vote) error {
	if q.c.Judge == nil {
		return nil
	}
	d, err := q.Judge(ctx, id, v.By, v.Arguments)
	if errors.Is(err, errUnjudged) {
		return nil // policy judges it when it goes on
	}
	if err != nil || d.Action != holdgate.Deny {
		return err
	}
	return fmt.Errorf("%w, by the rule %s: %s", ErrEditRefused, holdgate.Visible(d.Rule), holdgate.Visible(d.Reason))
}

// Schema is the JSON Schema that an MCP server has given for the arguments of a
// request's tool; nil where none is known.
func (q *Queue) Schema(r Request) json.RawMessage {
	if r.Call.Tool == nil {
		return nil
	}
	for _, t := range q.Tools.Known().All() {
		if t.Server == r.Call.Tool.Server && t.Name == r.Call.Tool.Name && t.Server != "" {
			return t.Schema
		}
	}
	return nil
}

// edit takes the edited arguments of a vote into the request, sealed. They are
// shown without what is hidden and without what is redacted of the call itself.
func (t *transition) edit(r *record.StoredRequest, args json.RawMessage, hidden []string) error {
	tool := holdgate.Tool{Name: r.Call.Tool, Server: r.Call.Server, Arguments: args}
	digest, err := t.q.c.Digester.Tool(&tool)
	if err != nil {
		return err
	}
	if digest == r.Call.Digest {
		return fmt.Errorf("%w: these arguments are those of the call, which needs approving and no edit", ErrAnswer)
	}
	x, err := t.Exchange(r.Exchange)
	if err != nil {
		return err
	}
	ref := x.Ref(r.ID)
	if ref == nil {
		return fmt.Errorf("editing request %s: exchange %s does not know it", r.ID, x.ID)
	}
	ref.Edited = true
	shown := redact.Arguments(holdgate.Call{Kind: r.Call.Kind, Tool: &tool}, slices.Concat(r.Redact, hidden))
	r.Edit = &record.StoredEdit{Digest: digest, Arguments: shown}
	return t.Tx.Set(record.PrefixEdited+r.ID, t.q.book.Seal.SealAt(bytes.Clone(args), record.PlaceEdited(r.ID)))
}

// Edited returns the arguments that an edit put in place of the call's, as one
// strict JSON object. They are there until the exchange is final.
func (x *Exchange) Edited(ctx context.Context, requestID string) (json.RawMessage, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var args json.RawMessage
	err := x.q.c.Store.View(ctx, func(tx store.Tx) error {
		var r record.StoredRequest
		if err := record.Read(tx, record.PrefixRequest+requestID, &r); err != nil {
			return err
		}
		if r.Exchange != x.id || r.Edit == nil {
			return ErrNotFound
		}
		sealed, err := tx.Get(record.PrefixEdited + requestID)
		if err != nil {
			return err
		}
		args, err = x.q.book.Seal.OpenAt(sealed, record.PlaceEdited(requestID))
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading what request %s was edited to: %w", requestID, err)
	}
	return args, nil
}

// asked reports whether whoever answered the request was shown every rule that
// another one asks for.
func askedAll(r *record.StoredRequest, o *record.StoredRequest) bool {
	rules := []string{o.Rule}
	for _, f := range o.Also {
		rules = append(rules, f.Rule)
	}
	for _, rule := range rules {
		if rule != r.Rule && !slices.ContainsFunc(r.Also, func(f holdgate.Finding) bool { return f.Rule == rule }) {
			return false
		}
	}
	return r.Gate == o.Gate
}

// askEdited stores a new request for a call that a person edited.
func (t *transition) askEdited(x *record.StoredExchange, r *record.StoredRequest, match holdgate.Digest, input record.KeptInput, q HeldCall) error {
	if x.Ref(q.Edited) == nil {
		return fmt.Errorf("request %s: %w in this exchange", q.Edited, ErrNotFound)
	}
	from, err := t.Request(q.Edited)
	if err != nil {
		return err
	}
	if from.Edit == nil || from.Edit.Digest != r.Call.Digest {
		return fmt.Errorf("request %s was not edited to this: %w", from.ID, ErrDigest)
	}
	vote := from.Votes[len(from.Votes)-1]
	r.EditedFrom = from.ID
	told := r.Briefing // with what lies where it happens
	r.Briefing = record.StoreBriefing(briefEdited(from, vote.By, q))
	r.Briefing.Summary, r.Briefing.Undo, r.Briefing.Effects, r.Briefing.Place = told.Summary, told.Undo, told.Effects, told.Place
	if err := t.AddRequest(x, r, match, input); err != nil {
		return err
	}
	if r.Kind != holdgate.RequestApproval || !askedAll(from, r) {
		return nil // the editor has not been asked all of this
	}
	v := record.StoredVote{
		Decision: holdgate.AnswerApprove, By: vote.By, Channel: vote.Channel, Assurance: vote.Assurance, Account: vote.Account,
		At: vote.At, Digest: from.Edit.Digest, Reason: "made this of request " + from.ID,
	}
	if err := t.admits(r, Vote(v)); err != nil {
		if errors.Is(err, people.ErrNotEntitled) {
			return nil
		}
		return err
	}
	return t.vote(r, v)
}
