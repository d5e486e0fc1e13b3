package app_test

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/rego/revisions"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/badger"
)

// A policy that was pushed, and that a later Holdgate reads more strictly, lets nothing
// through. It does not keep the sidecar from starting, for only that can take another.
func TestAPushedPolicyThatNoLongerLoadsIsReplaced(t *testing.T) {
	c := configuration(t)
	s := start(t, c)
	if status, text := s.ask("PUT", "/v1/policy", api.PolicyPush{Name: "good", Files: denies("x")}, nil); status != http.StatusOK {
		t.Fatalf("push: %d %s", status, text)
	}
	s.stop()
	db, err := badger.Open(filepath.Join(c.StateDir, "db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	slips := strings.Replace(denies("x")["team.rego"], `"deny"`, `"block"`, 1)
	err = db.Update(t.Context(), func(tx store.Tx) error {
		_, err := revisions.Put(tx, revisions.Revision{Name: "slips", By: "ada", Files: map[string]string{"team.rego": slips}})
		return err
	})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s = start(t, c)
	for _, tool := range []string{"x", "Read"} {
		if got := s.rule(tool); got != "holdgate.policy_error" {
			t.Errorf("a call of %s is decided by %s", tool, got)
		}
	}
	var d struct{ Action, Reason string }
	if _, text := s.ask("POST", "/v1/policy/eval", map[string]any{"input": map[string]any{"kind": "tool_call"}}, &d); d.Action != "deny" ||
		!strings.Contains(d.Reason, `decision.action cannot be "block"`) || !strings.Contains(d.Reason, "holdgate policy rollback") {
		t.Errorf("the call is told %s", text)
	}
	var st api.Status
	if _, text := s.ask("GET", "/v1/status", nil, &st); !strings.Contains(st.Health, "no call is let through") {
		t.Errorf("the health is %s", text)
	}
	var p api.PolicyPushed
	if status, text := s.ask("POST", "/v1/policy/rollback", api.PolicyRollback{}, &p); status != http.StatusOK || p.Name != "good" || !p.MayLoosen {
		t.Errorf("rollback: %d %s", status, text)
	}
	if got := s.rule("x"); got != "team.x" {
		t.Errorf("after the rollback: decided by %s", got)
	}
	if _, text := s.ask("GET", "/v1/status", nil, &st); st.Health != api.Healthy {
		t.Errorf("after the rollback the health is %s", text)
	}
	// What files say stops the start, as before: there it can be mended.
	c = configuration(t)
	c.Policy.Path = filepath.Join(t.TempDir(), "none")
	if _, err := app.New(context.WithoutCancel(t.Context()), c, app.Options{Version: "test"}); err == nil {
		t.Error("a policy of files that does not load is no error")
	}
}
