package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// A sidecar is an app on random ports, asked by its approvers' door.
type sidecar struct {
	t   *testing.T
	app *app.App
	url string
	dir string
}

func start(t *testing.T, c config.Config) *sidecar {
	t.Helper()
	c.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0"}
	a, err := app.New(t.Context(), c, app.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	s := &sidecar{t: t, app: a, dir: c.StateDir}
	t.Cleanup(s.stop)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, l := range a.Listeners() {
		if l.Name == "approvers" && !strings.HasPrefix(l.Addr, "/") {
			s.url = "http://" + l.Addr
		}
	}
	return s
}

func (s *sidecar) stop() {
	if err := s.app.Stop(context.WithoutCancel(s.t.Context())); err != nil {
		s.t.Errorf("stopping: %v", err)
	}
}

func (s *sidecar) request(method, path string, body any) *http.Response {
	s.t.Helper()
	token, err := os.ReadFile(filepath.Join(s.dir, "approver.token"))
	if err != nil {
		s.t.Fatal(err)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(string(raw)))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// ask sends a request and reads the answer into out, which may be nil.
func (s *sidecar) ask(method, path string, body, out any) (status int, text string) {
	s.t.Helper()
	resp := s.request(method, path, body)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if out != nil && resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(raw, out); err != nil {
			s.t.Fatalf("%s: %v", raw, err)
		}
	}
	return resp.StatusCode, string(raw)
}

// rule is by which rule a call of the tool is decided.
func (s *sidecar) rule(tool string) string {
	s.t.Helper()
	var d struct{ Rule string }
	input := map[string]any{"kind": "tool_call", "tool": map[string]any{"name": tool, "arguments": map[string]any{}}}
	if status, text := s.ask("POST", "/v1/policy/eval", map[string]any{"input": input}, &d); status != http.StatusOK {
		s.t.Fatalf("eval: %d %s", status, text)
	}
	return d.Rule
}

func (s *sidecar) state() (state api.PolicyState) {
	s.t.Helper()
	if status, text := s.ask("GET", "/v1/policy", nil, &state); status != http.StatusOK {
		s.t.Fatalf("GET /v1/policy: %d %s", status, text)
	}
	return state
}

func configuration(t *testing.T) config.Config {
	t.Helper()
	c := config.Default(filepath.Join(t.TempDir(), "state"), "ada")
	return c
}

// denies is a policy that refuses a tool.
func denies(tool string) map[string]string {
	return map[string]string{
		"team.rego":      "package holdgate.custom.team\n\ndecisions contains {\"action\": \"deny\", \"rule\": \"team." + tool + "\", \"reason\": \"no\"} if input.tool.name == \"" + tool + "\"\n",
		"team_test.rego": "package holdgate.custom.team_test\n\nimport data.holdgate.custom.team\n\ntest_it if count(team.decisions) == 1 with input as {\"tool\": {\"name\": \"" + tool + "\"}}\n",
	}
}

func TestPolicyIsPushedAndRolledBack(t *testing.T) {
	c := configuration(t)
	s := start(t, c)
	if got := s.state(); !got.Pushable || len(got.Rules) < 20 || len(got.Revisions) != 0 {
		t.Errorf("at first: pushable %v, %d rules, %d revisions", got.Pushable, len(got.Rules), len(got.Revisions))
	}
	events := s.request("GET", "/v1/events", nil)
	defer events.Body.Close()

	var p api.PolicyPushed
	if status, text := s.ask("PUT", "/v1/policy", api.PolicyPush{Name: "no x", Files: denies("x")}, &p); status != http.StatusOK || p.ID != 1 || p.MayLoosen {
		t.Fatalf("push: %d %s", status, text)
	}
	if got := s.rule("x"); got != "team.x" {
		t.Errorf("after the push: decided by %s", got)
	}
	if line := dataOf(t, events.Body); !strings.Contains(line, "policy.changed") || !strings.Contains(line, "ada changed the policy") || !strings.Contains(line, "team.rego added (team.x)") {
		t.Errorf("people were told %s", line)
	}
	var state api.PolicyState
	if status, text := s.ask("GET", "/v1/policy?rule=team.x", nil, &state); status != http.StatusOK || len(state.Rules) != 1 || !strings.Contains(state.Rules[0].Text, `input.tool.name == "x"`) {
		t.Errorf("the rule team.x: %d %s", status, text)
	}
	if status, text := s.ask("PUT", "/v1/policy", api.PolicyPush{Name: "no y", Files: denies("y")}, &p); status != http.StatusOK || p.ID != 2 || !p.MayLoosen {
		t.Fatalf("another push: %d %s", status, text)
	}

	bad := denies("z")
	bad["team.rego"] = "package holdgate.custom.team\n\ndecisions contains deny deny\n"
	if status, text := s.ask("PUT", "/v1/policy", api.PolicyPush{Name: "bad", Files: bad}, nil); status != http.StatusUnprocessableEntity || !strings.Contains(text, "team.rego:3") {
		t.Errorf("what does not compile: %d %s", status, text)
	}
	bad = denies("z")
	bad["team_test.rego"] = denies("y")["team_test.rego"]
	if status, text := s.ask("PUT", "/v1/policy", api.PolicyPush{Name: "bad", Files: bad}, nil); status != http.StatusUnprocessableEntity || !strings.Contains(text, "test_it") {
		t.Errorf("what fails its tests: %d %s", status, text)
	}

	s.stop()
	s = start(t, c)
	if got := s.rule("y"); got != "team.y" {
		t.Errorf("after a restart: decided by %s", got)
	}
	if status, text := s.ask("POST", "/v1/policy/rollback", api.PolicyRollback{}, &p); status != http.StatusOK || p.ID != 1 {
		t.Fatalf("rollback: %d %s", status, text)
	}
	if got := s.rule("x"); got != "team.x" {
		t.Errorf("after the rollback: decided by %s", got)
	}
	state = s.state()
	if len(state.Revisions) != 2 || !state.Revisions[0].InUse || state.Revisions[1].InUse || state.Revisions[0].By != "ada" || state.Name != "no x" {
		t.Errorf("after the rollback: %+v", state.Revisions)
	}
	if status, text := s.ask("POST", "/v1/policy/rollback", api.PolicyRollback{ID: new(uint64(0))}, &p); status != http.StatusOK || p.ID != 0 {
		t.Errorf("back to the pack: %d %s", status, text)
	}
	if status, text := s.ask("POST", "/v1/policy/rollback", api.PolicyRollback{ID: new(uint64(7))}, nil); status != http.StatusNotFound {
		t.Errorf("to a revision that nobody pushed: %d %s", status, text)
	}
	if _, text := s.ask("GET", "/v1/audit", nil, nil); strings.Count(text, "ada changed the policy") != 4 {
		t.Errorf("the audit log does not tell of four changes: %s", text)
	}
}

// dataOf reads the data of the next event.
func dataOf(t *testing.T, body io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			return data
		}
	}
	t.Fatalf("the stream ended: %v", lines.Err())
	return ""
}

func TestPolicyOfFilesIsNotPushed(t *testing.T) {
	c := configuration(t)
	c.Policy.Path = t.TempDir()
	for name, text := range denies("x") {
		if err := os.WriteFile(filepath.Join(c.Policy.Path, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, c)
	if s.state().Pushable {
		t.Error("it says that it can be pushed")
	}
	resp := s.request("PUT", "/v1/policy", api.PolicyPush{Name: "n", Files: denies("y")})
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("got %d, Allow %q", resp.StatusCode, resp.Header.Get("Allow"))
	}
	if status, text := s.ask("POST", "/v1/policy/rollback", api.PolicyRollback{}, nil); status != http.StatusMethodNotAllowed {
		t.Errorf("rollback: %d %s", status, text)
	}
	if got := s.rule("x"); got != "team.x" {
		t.Errorf("decided by %s", got)
	}
}

func TestOnlyAdminsChangeThePolicy(t *testing.T) {
	c := configuration(t)
	c.People = map[config.PersonName]config.Person{"ada": {Roles: []config.Role{"approve"}}}
	s := start(t, c)
	for _, r := range []struct {
		method, path string
		body         any
	}{
		{"PUT", "/v1/policy", api.PolicyPush{Name: "n", Files: denies("x")}},
		{"POST", "/v1/policy/rollback", api.PolicyRollback{}},
	} {
		if status, text := s.ask(r.method, r.path, r.body, nil); status != http.StatusForbidden || !strings.Contains(text, "admin") {
			t.Errorf("%s %s: %d %s", r.method, r.path, status, text)
		}
	}
	if s.state().Name != "" || s.rule("x") == "team.x" {
		t.Error("the policy changed")
	}
}
