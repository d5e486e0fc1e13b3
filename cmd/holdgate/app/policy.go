package app

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
)

// PolicyOptions are the engine's options as the configuration says them.
func PolicyOptions(c config.Policy) (rego.Options, error) {
	o := rego.Options{
		Path: c.Path, Observe: c.Mode == config.ModeObserve, Timeout: time.Duration(c.Timeout),
		Adapter: rego.Adapter(c.Adapter), Query: c.Query,
		Signing: rego.Signing{Algorithm: c.Bundle.Algorithm, Scope: c.Bundle.Scope, Exclude: c.Bundle.Exclude},
	}
	if c.OnError == "hold" {
		o.OnError = holdgate.Hold
	}
	if c.Bundle.Key != "" {
		key, err := os.ReadFile(c.Bundle.Key)
		if err != nil {
			return o, fmt.Errorf("policy.bundle.key: %w", err)
		}
		o.Signing.Key = strings.TrimSpace(string(key))
	}
	return o, nil
}

// openPolicy loads the policy; none that loads is fatal.
func (a *App) openPolicy(ctx context.Context) (err error) {
	o, err := PolicyOptions(a.c.Policy)
	if err != nil {
		return err
	}
	o.Logger = a.log
	o.OnLoad = func(l rego.Load) { a.policyLoaded(ctx, l) }
	a.engine, err = rego.Open(ctx, o)
	return err
}

// policyLoaded records what is in force from now on and what differs, or that
// it stays because an edit does not load.
func (a *App) policyLoaded(ctx context.Context, l rego.Load) {
	note := "policy in force: " + describe(l.Loaded) + ", revision " + l.Loaded.Revision
	switch {
	case l.Err != nil:
		note = "a policy was refused and the earlier one stays, revision " + l.Loaded.Revision + ": " + strings.ReplaceAll(l.Err.Error(), "\n", "; ")
	case l.Change.MayLoosen:
		note += "; it may let more through: " + l.Change.String()
	case !l.Change.Empty():
		note += "; " + l.Change.String()
	}
	if _, err := a.audit.Write(context.WithoutCancel(ctx), audit.Entry{Type: audit.TypePolicy, Note: note}, true); err != nil {
		a.log.Error("writing the audit log", "err", err)
	}
}

func describe(l rego.Loaded) string {
	switch {
	case l.Path == "":
		return "the shipped pack"
	case l.Whole:
		return l.Path + " alone (it defines data.holdgate.decision)"
	}
	return l.Path + " over the shipped pack"
}
