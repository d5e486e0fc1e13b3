package rego

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/server"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/secrets"
	"github.com/holdgate/holdgate/rego/verdict"
)

// addLogs starts decision logs where the configuration has them. Masking by
// Rego is not part of it: what a decision redacts is left out before the event
// is made, so that no mask can be forgotten.
func (r *remote) addLogs() error {
	raw := r.manager.GetConfig().DecisionLogs
	if raw == nil {
		return nil
	}
	c, err := logs.NewConfigBuilder().WithBytes(raw).WithServices(r.manager.Services()).Parse()
	if err != nil {
		return err
	}
	var asked struct {
		Mask   *string `json:"mask_decision"`
		Drop   *string `json:"drop_decision"`
		Plugin *string `json:"plugin"`
	}
	if err := json.Unmarshal(raw, &asked); err != nil {
		return err
	}
	switch {
	case asked.Mask != nil || asked.Drop != nil:
		return errors.New("decision_logs: mask_decision and drop_decision are not supported: what decisions redact is left out")
	case asked.Plugin != nil || c.ConsoleLogs || c.Service == "":
		return errors.New("decision_logs: want a service to send them to")
	}
	r.logs = logs.New(c, r.manager)
	r.manager.Register(logs.Name, r.logs)
	return nil
}

// logDecision sends a decision and what it was made from to the decision logs.
func (e *Engine) logDecision(ctx context.Context, input ast.Value, d holdgate.Decision) {
	event := &server.Info{
		DecisionID: rand.Text(), Timestamp: time.Now().UTC(), Path: strings.ReplaceAll(strings.TrimPrefix(entry, "data."), ".", "/"),
		Revision: d.Revision, Bundles: map[string]server.BundleInfo{},
	}
	for name, revision := range e.remote.revisions() {
		event.Bundles[name] = server.BundleInfo{Revision: revision}
	}
	var result any = verdict.Document(d)
	event.Results = &result
	if input != nil && !e.o.NoInputs {
		shown, left, err := logged(input, d)
		if err != nil {
			e.o.Logger.ErrorContext(ctx, "writing an input for decision logs", "err", err)
		} else {
			event.Input = &shown
			if len(left) > 0 {
				event.Custom = map[string]any{"redacted": left}
			}
		}
	}
	if err := e.remote.logs.Log(context.WithoutCancel(ctx), event); err != nil {
		e.o.Logger.ErrorContext(ctx, "writing decision logs", "err", err)
	}
}

// revisions are the names of the bundles in force.
func (r *remote) revisions() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]string{}
	for name, own := range r.latest {
		all[name] = own.label
	}
	return all
}

// content are the parts of input that hold what an agent wrote.
var content = []string{"/tool/arguments", "/tool/arguments_raw", "/mcp/params", "/mcp/name", "/http/query", "/http/path"}

// factsQuoting are the facts that quote it.
var factsQuoting = []string{"/facts/commands", "/facts/paths", "/facts/sql", "/facts/urls", "/facts/parse_errors"}

// logged is an input without what must not be logged, and the pointers to what
// was left out: what the decision redacts, or, where there is no decision that
// could say so, all that an agent wrote. With any of that go the facts that
// may quote it.
func logged(input ast.Value, d holdgate.Decision) (shown any, left []string, err error) {
	v, err := plain(input)
	if err != nil {
		return nil, nil, fmt.Errorf("converting input: %w", err)
	}
	for _, p := range d.Redact {
		if p == holdgate.RedactCredentials {
			left = append(left, credentialTexts(v)...)
		} else {
			left = append(left, p)
		}
	}
	if d.Rule == holdgate.RulePolicyError {
		left = append(left, content...)
	}
	if o, ok := v.(map[string]any); ok {
		if _, ok := o["result"]; ok { // what a server sent is in no log
			left = append(left, "/result/text", "/result/body")
		}
	}
	if len(left) > 0 {
		left = append(left, factsQuoting...)
		if slices.ContainsFunc(left, func(p string) bool { return strings.HasPrefix(p, "/tool/arguments") }) {
			left = append(left, "/tool/arguments_raw")
		}
	}
	slices.Sort(left)
	left = slices.Compact(left)
	return without(v, pathsOf(left)), left, nil
}

// credentialTexts points at the texts of a tool's arguments that hold credentials, at all of
// them where some could not be searched.
func credentialTexts(input any) []string {
	const root = "/tool/arguments"
	o, _ := input.(map[string]any)
	tool, _ := o["tool"].(map[string]any)
	raw, err := json.Marshal(tool["arguments"])
	found, ok := secrets.InArguments(context.Background(), raw)
	if err != nil || !ok {
		return []string{root}
	}
	var pointers []string
	for _, f := range found {
		p := f.Pointer
		if f.Name { // the pointer itself would say it
			p = p[:strings.LastIndexByte(p, '/')]
		}
		pointers = append(pointers, root+p)
	}
	return pointers
}

// plain is input as JSON's own types: a part of it may be of OPA's.
func plain(input ast.Value) (any, error) {
	v, err := ast.JSON(input)
	if err != nil {
		return nil, err
	}
	if o, ok := v.(object); ok { // the very map that input was built from
		whole := make(object, len(o))
		for k, part := range o {
			if value, ok := part.(ast.Value); ok {
				if part, err = ast.JSON(value); err != nil {
					return nil, err
				}
			}
			whole[k] = part
		}
		v = whole
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return strictJSON(raw)
}

// pathsOf reads JSON pointers (RFC 6901).
func pathsOf(pointers []string) [][]string {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	paths := make([][]string, len(pointers))
	for i, p := range pointers {
		for part := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
			paths[i] = append(paths[i], unescape.Replace(part))
		}
	}
	return paths
}

// without is a copy of v that lacks what is at the paths.
func without(v any, paths [][]string) any {
	if len(paths) == 0 {
		return v
	}
	below := func(part string) (deeper [][]string, gone bool) {
		for _, p := range paths {
			if p[0] != part {
				continue
			}
			if len(p) == 1 {
				return nil, true
			}
			deeper = append(deeper, p[1:])
		}
		return deeper, false
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			if deeper, gone := below(k); !gone {
				out[k] = without(x, deeper)
			}
		}
		return out
	case []any:
		out := []any{}
		for i, x := range v {
			if deeper, gone := below(strconv.Itoa(i)); !gone {
				out = append(out, without(x, deeper))
			}
		}
		return out
	}
	return v
}
