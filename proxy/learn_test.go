package proxy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
)

// Seed 001 (learning from past approvals): after as many approvals as the settings
// say, the shipped pack lets a call like them go on by itself; a denial ends that.
func TestAfterEnoughApprovalsPolicyApproves(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.yaml")
	proxytest.Must(t, os.WriteFile(path, []byte("settings: {learned: {approvals: 2, days: 30}}\n"), 0o600))
	e, err := rego.Open(t.Context(), rego.Options{Path: filepath.Dir(path), Timeout: proxytest.Patience, KeepSeen: true})
	proxytest.Must(t, err)
	g := newOnceGate(t, func(c *proxy.Config) {
		c.Engine, c.Dir, c.Agent = e, "/work/project", holdgate.Agent{ID: "builder", Proven: true}
	})
	asks := func(id, path string) <-chan string {
		g.answer = proxytest.ModelCalls(id, "Write", `{"file_path":"`+path+`","content":"x"}`)
		got := make(chan string, 1)
		go func() { got <- proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain).Body) }()
		return got
	}
	for _, name := range []string{"a", "b"} {
		got := asks("toolu_"+name, "/srv/www/"+name+".html")
		r := g.Pending(1)[0]
		if why := strings.Join(r.Briefing.Why, " "); r.Rule != "files.outside" || !strings.Contains(why, "approving it teaches: after 2 approvals") {
			t.Fatalf("asked by %s: %s", r.Rule, why)
		}
		_, err := g.Queue.Decide(t.Context(), r.ID, approvals.Vote{Decision: holdgate.AnswerApprove, By: "ann", Channel: "cli", Assurance: "local", Digest: r.Call.Digest})
		proxytest.Must(t, err)
		<-got
	}
	if body := <-asks("toolu_c", "/srv/www/c.html"); !strings.Contains(body, "toolu_c") {
		t.Fatalf("asked about: %s", body)
	}
	used := g.Entries(audit.TypeGranted)
	if len(used) != 1 || used[0].Outcome.By != "policy" || !strings.HasPrefix(used[0].Note, "learned: people approved 2 calls like it since ") {
		t.Fatalf("logged: %+v", used)
	}
	for id, path := range map[string]string{"toolu_d": "/srv/other/d.html", "toolu_e": "/etc/cron.d/e", "toolu_f": "/srv/www/.env"} {
		got := asks(id, path)
		g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "no")
		if body := <-got; strings.Contains(body, `"tool_use"`) {
			t.Errorf("%s went on: %s", path, body)
		}
	}
	list, err := g.Queue.Grants.List(t.Context(), "builder")
	if err != nil || len(list) != 1 || list[0].Uses != 1 || list[0].Learned == nil {
		t.Errorf("listed: %+v, %v", list, err)
	}
	_, err = g.Queue.Grants.Revoke(t.Context(), list[0].ID, "ann")
	proxytest.Must(t, err)
	got := asks("toolu_g", "/srv/www/g.html")
	g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "no")
	if body := <-got; strings.Contains(body, "toolu_g") {
		t.Errorf("it went on after it was revoked: %s", body)
	}
	g.Verified()
}
