package rego

import (
	"context"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
	"github.com/holdgate/holdgate/rego/facts/secrets"
)

// hide adds to a decision what is redacted whatever policy says, and takes
// credentials out of its texts. Err says why there are no facts. Shown are the facts without
// credentials.
func (p *policy) hide(ctx context.Context, in Input, f facts.Facts, err error, d *holdgate.Decision) (shown func(facts.Facts) facts.Facts) {
	shown = func(f facts.Facts) facts.Facts { return f }
	var found []holdgate.FoundSecret // in a tool's arguments
	searched, apart := true, true
	if t := in.Call.Tool; t == nil || t.Arguments == nil {
		searched = false
	} else if len(f.Secrets) > 0 || secrets.Mentions(t.Arguments) {
		found, searched = secrets.InArguments(ctx, t.Arguments)
	}
	var hidden []string
	conceal := Conceal
	if len(f.Secrets)+len(found) > 0 {
		var values []string
		values, apart = facts.Values(ctx, in.Call, p.place(in))
		conceal = func(s string) string { return secrets.Conceal(s, values) }
	}
	switch {
	case err != nil, d.Rule == holdgate.RulePolicyError && len(f.ParseErrors) > 0, !searched && in.Call.Tool != nil && in.Call.Tool.Arguments != nil:
		hidden = wholeContent(in.Call)
	case searched && apart && !facts.CutShort(f) && (len(found) > 0 || len(f.Secrets) == 0):
		if len(found) > 0 {
			hidden = []string{holdgate.RedactCredentials}
			values := facts.Found(in.Call.Tool.Arguments, found)
			conceal = func(s string) string { return secrets.Conceal(s, values) }
			shown = func(f facts.Facts) facts.Facts { return facts.Concealed(f, conceal) }
		}
	default:
		if hidden = credentials(ctx, in.Call, f); len(found) > 0 {
			hidden = append(hidden, holdgate.RedactCredentials)
		}
	}
	for _, pointer := range hidden {
		if !slices.Contains(d.Redact, pointer) {
			d.Redact = append(slices.Clip(d.Redact), pointer)
		}
	}
	if len(f.Secrets)+len(found) == 0 && d.Rule == ruleDefault {
		return shown // its reason quotes nothing
	}
	d.Reason = conceal(d.Reason)
	d.Hold.Message = conceal(d.Hold.Message)
	for i := range d.Hold.Options {
		d.Hold.Options[i].Label = conceal(d.Hold.Options[i].Label)
	}
	for i := range d.Also {
		d.Also[i].Reason = conceal(d.Also[i].Reason)
	}
	return shown
}

// Conceal returns a text without what looks like a credential in it.
func Conceal(text string) string { return secrets.Conceal(text, nil) }

// credentials points at those in what an agent wrote.
func credentials(ctx context.Context, c holdgate.Call, f facts.Facts) []string {
	root := contentRoot(c)
	var pointers []string
	for _, s := range f.Secrets {
		pointers = append(pointers, root+s.Pointer)
	}
	if !facts.CutShort(f) {
		return pointers
	}
	if c.Tool == nil || c.Tool.Arguments == nil {
		return wholeContent(c)
	}
	rest := secrets.ReadResult(ctx, c.Tool.Arguments, false) // with larger bounds
	if rest.Unread {
		return wholeContent(c)
	}
	for _, s := range rest.Secrets {
		pointers = append(pointers, root+s.Pointer)
	}
	return pointers
}

// contentRoot is the part of input that the pointers of facts.secrets start at.
func contentRoot(c holdgate.Call) string {
	switch {
	case c.Tool != nil:
		return "/tool/arguments"
	case c.Gate != nil:
		return "/gate"
	case c.HTTP != nil:
		return "/http"
	case c.MCP != nil:
		return "/mcp"
	}
	return ""
}

// wholeContent points at all that an agent wrote.
func wholeContent(c holdgate.Call) []string {
	switch {
	case c.Tool != nil:
		return []string{"/tool/arguments", "/tool/arguments_raw"}
	case c.Gate != nil:
		return []string{"/gate/message", "/gate/context", "/gate/artifacts"}
	case c.HTTP != nil:
		return []string{"/http/path", "/http/query"}
	case c.MCP != nil:
		return []string{"/mcp/name", "/mcp/params"}
	}
	return nil
}
