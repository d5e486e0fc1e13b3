package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Tokens of people and agents, as `holdgate people add` makes them.
var (
	bobsToken  = strings.Repeat("b0", 32)
	evesToken  = strings.Repeat("e7", 32)
	annsToken  = "hgt_" + strings.Repeat("a1", 32)
	teamConfig = "approver: ada\npeople:\n  ada: {roles: [approve, admin]}\n  bob: {roles: [approve], token_sha256: " + hashOf(bobsToken) + "}\n"
)

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// A configured is a sidecar whose configuration is saved while it runs.
type configured struct {
	*sidecar
	file string
}

func serveConfigured(t *testing.T, text string, args ...string) *configured {
	t.Helper()
	file := write(t, "holdgate.yaml", text)
	return &configured{serve(t, nil, append([]string{"--config", file}, args...)...), file}
}

// save puts text into the file as an editor does, and returns its digest.
func (s *configured) save(text string) (digest string) {
	s.t.Helper()
	tmp := filepath.Join(filepath.Dir(s.file), ".new")
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(tmp, s.file); err != nil {
		s.t.Fatal(err)
	}
	return hashOf(text)
}

// A configState is what a script sees of the configuration.
type configState struct {
	File, Digest, Fault string
	Waiting             *struct {
		Digest           string
		Changes, Loosens []string
	}
	NeedsRestart []string `json:"needs_restart"`
}

func (s *configured) config() configState {
	s.t.Helper()
	return parse[configState](s.t, s.must("config", "--json"))
}

// inForce waits until the file of a digest is in force.
func (s *configured) inForce(digest string) {
	s.t.Helper()
	until(s.t, "the file "+digest+" in force", func() bool { return s.config().Digest == digest })
}

// as asks the approvers' door with a token.
func (s *configured) as(token, method, path, text string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequest(method, "http://"+s.approvers+path, strings.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// noted reports whether an entry of the audit log about the configuration says this.
func (s *configured) noted(text string) bool {
	s.t.Helper()
	for _, e := range s.entries() {
		if e.Type == "config" && strings.Contains(e.Note, text) {
			return true
		}
	}
	return false
}

func TestAPersonIsTakenOutWhenTheFileIsSaved(t *testing.T) {
	t.Parallel()
	s := serveConfigured(t, teamConfig)
	if got := s.as(bobsToken, "GET", "/v1/approvals", "").StatusCode; got != http.StatusOK {
		t.Fatalf("bob is answered with %d before", got)
	}
	events := s.as(bobsToken, "GET", "/v1/events", "")
	gone := make(chan struct{})
	go func() { defer close(gone); drain(events) }()
	s.inForce(s.save("approver: ada\npeople:\n  ada: {roles: [approve, admin]}\n"))
	if got := s.as(bobsToken, "GET", "/v1/approvals", "").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("bob's token is answered with %d after the file was saved", got)
	}
	<-gone // what it had opened ends too
	if !s.noted("bob is removed") {
		t.Error("the audit log does not say so")
	}
	s.must("audit", "verify")
}

func TestWhatLoosensWaitsForAPersonOfTheRoleAdmin(t *testing.T) {
	t.Parallel()
	s := serveConfigured(t, teamConfig)
	was := s.config().Digest
	for name, text := range map[string]string{
		"an empty file":    "",
		"no people":        "approver: ada\n",
		"a role more":      strings.Replace(teamConfig, "bob: {roles: [approve]", "bob: {roles: [approve, admin]", 1),
		"another person":   teamConfig + "  eve: {roles: [approve], token_sha256: " + hashOf(evesToken) + "}\n",
		"a token for eve":  strings.Replace(teamConfig, hashOf(bobsToken), hashOf(evesToken), 1),
		"a new credential": teamConfig + "credentials: {api: {hosts: [api.example.com], command: [\"true\"]}}\n",
	} {
		digest := s.save(text)
		until(t, name+" waiting", func() bool { w := s.config().Waiting; return w != nil && w.Digest == digest })
		if got := s.config(); got.Digest != was || len(got.Waiting.Loosens) == 0 {
			t.Errorf("%s: %+v", name, got)
		}
		if got := s.as(evesToken, "GET", "/v1/approvals", "").StatusCode; got != http.StatusUnauthorized {
			t.Errorf("%s: eve is answered with %d", name, got)
		}
		if r := s.run("pending"); !strings.Contains(r.stdout, "holdgate config accept "+digest) {
			t.Errorf("%s: pending does not say what waits: %v", name, r)
		}
		if got := s.as(bobsToken, "POST", "/v1/config/accept", `{"digest":"`+digest+`"}`).StatusCode; got != http.StatusForbidden {
			t.Errorf("%s: bob, who is no admin, is answered with %d", name, got)
		}
	}
	s.save(teamConfig)
	until(t, "nothing waiting when the file is as it was", func() bool { return s.config().Waiting == nil })
}

func TestAnAdminAcceptsTheVeryFileThatWaits(t *testing.T) {
	t.Parallel()
	s := serveConfigured(t, teamConfig)
	withEve := teamConfig + "  eve: {roles: [approve, admin], token_sha256: " + hashOf(evesToken) + "}\n"
	first := s.save(withEve)
	until(t, "the file waiting", func() bool { w := s.config().Waiting; return w != nil && w.Digest == first })
	if got := s.as(evesToken, "POST", "/v1/config/accept", `{"digest":"`+first+`"}`).StatusCode; got != http.StatusUnauthorized {
		t.Errorf("who would be an admin by the file itself is answered with %d", got)
	}
	second := s.save(withEve + "# looked at\n")
	until(t, "the other file waiting", func() bool { w := s.config().Waiting; return w != nil && w.Digest == second })
	if r := s.run("config", "accept", first); r.code != 1 || !strings.Contains(r.stderr, "no configuration of this digest waits") {
		t.Errorf("the digest of another file: %v", r)
	}
	s.must("config", "accept", second)
	if got := s.config(); got.Digest != second || got.Waiting != nil {
		t.Errorf("after it was accepted: %+v", got)
	}
	if got := s.as(evesToken, "GET", "/v1/approvals", "").StatusCode; got != http.StatusOK {
		t.Errorf("eve is answered with %d", got)
	}
	if !s.noted("ada accepted the configuration " + second) {
		t.Error("the audit log does not say who accepted it")
	}
}

func TestAFaultyFileChangesNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	s := serveConfigured(t, teamConfig)
	was := s.config().Digest
	for text, says := range map[string]string{
		teamConfig + "peopel: {}\n":                                     "unknown key",
		teamConfig + "gates: {a: {timeout: soon}}\n":                    "holdgate.yaml:5",
		"approver: ada\npeople: {bob: {roles: []}}\n":                   "must name at least one role",
		teamConfig + "routes: [{tell: [nobody]}]\n":                     "there is no channel",
		teamConfig + "credentials: {a: {hosts: [b.c], env: NO_SUCH}}\n": "NO_SUCH is not set",
	} {
		s.save(text)
		// A command reads the file too, so the door is asked.
		until(t, "a word about the fault", func() bool {
			resp := s.as(bobsToken, "GET", "/v1/config", "")
			got := parse[configState](t, body(t, resp))
			return strings.Contains(got.Fault, says) && got.Digest == was
		})
	}
	if err := os.Remove(s.file); err != nil {
		t.Fatal(err)
	}
	until(t, "a word about the file that has gone", func() bool {
		return strings.Contains(parse[configState](t, body(t, s.as(bobsToken, "GET", "/v1/config", ""))).Fault, "no such file")
	})
	s.save(teamConfig)
	until(t, "no fault when the file is as it was", func() bool { return s.config().Fault == "" })
	if !s.noted("must name at least one role") {
		t.Error("the audit log does not say what was not taken")
	}
}

func TestAnAgentIsKnownWhenTheFileIsSaved(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := serveConfigured(t, teamConfig, "--upstream", "anthropic="+p.URL)
	ask := func(path string) int {
		resp, err := http.Get("http://" + s.agents + path)
		if err != nil {
			t.Fatal(err)
		}
		defer drain(resp)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	if got := ask("/as/" + annsToken + "/v1/session"); got != http.StatusUnauthorized {
		t.Fatalf("a token that nobody knows is answered with %d", got)
	}
	s.inForce(s.save(teamConfig + "agents: {ann: {token_sha256: " + hashOf(annsToken) + "}}\n"))
	if got := ask("/as/" + annsToken + "/v1/session"); got != http.StatusOK {
		t.Errorf("ann is answered with %d after the file was saved", got)
	}
	if !strings.Contains(s.must("agents"), "ann ") {
		t.Error("holdgate agents does not list ann")
	}
	s.inForce(s.save(teamConfig))
	if got := ask("/as/" + annsToken + "/v1/session"); got != http.StatusUnauthorized {
		t.Errorf("ann is answered with %d after the token was taken back", got)
	}
}

func TestWhatNeedsARestartIsNamedWhenTheFileIsSaved(t *testing.T) {
	t.Parallel()
	s := serveConfigured(t, teamConfig)
	digest := s.save(teamConfig + "limits: {redeem: 3h}\nlisten: {agents_socket: /tmp/none.sock}\n")
	s.inForce(digest)
	if got := strings.Join(s.config().NeedsRestart, " "); got != "listen.agents_socket limits.redeem" {
		t.Errorf("it names %q", got)
	}
	if !s.noted("listen.agents_socket, limits.redeem") {
		t.Error("the audit log does not name them")
	}
	if !strings.Contains(s.must("config"), "takes a restart: listen.agents_socket, limits.redeem") {
		t.Error("holdgate config does not name them")
	}
}

func TestSIGHUPHasTheFileRead(t *testing.T) {
	t.Parallel()
	s := serveConfigured(t, teamConfig)
	for range 3 {
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	digest := s.save(teamConfig + "# a remark\n")
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.inForce(digest)
	if code := s.stop(); code != 0 {
		t.Errorf("exit code %d after SIGHUP and SIGTERM\n%s", code, s.log())
	}
}

func TestGatesCountWhenTheFileIsSaved(t *testing.T) {
	t.Parallel()
	s := serveConfigured(t, teamConfig)
	needed := func() string {
		resp, err := http.Get("http://" + s.agents + "/v1/session")
		if err != nil {
			t.Fatal(err)
		}
		got := parse[struct {
			Needed []string `json:"gates_needed"`
		}](t, body(t, resp))
		return strings.Join(got.Needed, " ")
	}
	if got := needed(); got != "" {
		t.Fatalf("gates are needed before: %s", got)
	}
	s.inForce(s.save(teamConfig + "gates: {intent_approval: {sessions: [\"*\"]}}\n"))
	if got := needed(); got != "intent_approval" {
		t.Errorf("gates that are needed: %q", got)
	}
}

// A lower limit counts at once, for the next call. A higher one waits for an admin.
func TestLimitsCountWhenTheFileIsSaved(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := serveConfigured(t, teamConfig, "--upstream", "anthropic="+p.URL)
	s.asks("rm -rf first").held()
	refused := func(what string, want bool, by string) {
		t.Helper()
		if got := strings.Contains(askTurn(s.sidecar, what), by); got != want {
			t.Errorf("%s is refused by %s: %v, want %v", what, by, got, want)
		}
	}
	limited := func(pending string) string { return teamConfig + "limits: {pending: " + pending + "}\n" }
	s.inForce(s.save(limited("1")))
	refused("rm -rf second", true, "limits.pending")
	more := s.save(limited("2"))
	until(t, "the higher limit waiting", func() bool { w := s.config().Waiting; return w != nil && w.Digest == more })
	refused("rm -rf third", true, "limits.pending")
	s.must("config", "accept", more)
	s.asks("rm -rf fourth").held()
	if !s.noted("limits.pending is 1, and was 20") || !s.noted("accepted the configuration "+more+": limits.pending is 2, and was 1") {
		t.Error("the audit log does not say so")
	}
	s.inForce(s.save(limited("2, log_bytes_per_hour: 1B")))
	askTurn(s.sidecar, "ls one") // which fills it
	refused("ls two", true, "limits.log_bytes_per_hour")
}

// What waits already is told where a route leads from now on.
func TestARouteCountsWhenTheFileIsSaved(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	dir := t.TempDir()
	plugins := "plugins:\n"
	for _, name := range []string{"bell", "horn"} {
		plugins += "  " + name + ":\n    command: [" + binary + ", plugin, serve, exec]\n" +
			"    config: {command: [/bin/sh, -c, \"cat >> " + filepath.Join(dir, name) + "; echo\"]}\n"
	}
	s := serveConfigured(t, teamConfig+plugins+"routes: [{tell: [bell]}]\n", "--upstream", "anthropic="+p.URL)
	told := func(name string) bool {
		text, err := os.ReadFile(filepath.Join(dir, name))
		return err == nil && strings.Contains(string(text), "rm -rf routed")
	}
	ended := hold(t, s.sidecar, "rm -rf routed")
	r := s.held("rm -rf routed")
	until(t, "the bell", func() bool { return told("bell") })
	if told("horn") {
		t.Error("the horn was told, to which no route leads")
	}
	s.inForce(s.save(teamConfig + plugins + "routes: [{tell: [bell, horn]}]\n"))
	until(t, "the horn", func() bool { return told("horn") })
	digest := s.save(teamConfig + plugins) // every channel tells of everything
	until(t, "the file without routes waiting", func() bool { w := s.config().Waiting; return w != nil && w.Digest == digest })
	s.answer(r.ID, "deny")
	<-ended
}

func TestACredentialCountsOnceItIsAccepted(t *testing.T) {
	t.Parallel()
	keys := make(chan string, 10)
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { keys <- r.Header.Get("X-Api-Key") }))
	t.Cleanup(up.Close)
	ann := teamConfig + "agents: {ann: {token_sha256: " + hashOf(annsToken) + "}}\n"
	s := serveConfigured(t, ann, "--upstream", "api="+up.URL)
	ask := func() string {
		resp, err := http.Get("http://" + s.agents + "/as/" + annsToken + "/up/api/things")
		if err != nil {
			t.Fatal(err)
		}
		drain(resp)
		resp.Body.Close()
		return <-keys
	}
	if got := ask(); got != "" {
		t.Fatalf("a key is put in before there is one: %q", got)
	}
	key := write(t, "key", "sk-real\n")
	with := ann + "credentials: {api: {hosts: [\"" + up.URL + "\"], header: X-Api-Key, file: " + key + "}}\n"
	digest := s.save(with)
	until(t, "the file waiting", func() bool { w := s.config().Waiting; return w != nil && w.Digest == digest })
	if got := ask(); got != "" {
		t.Errorf("a key is put in before it is accepted: %q", got)
	}
	s.must("config", "accept", digest)
	if got := ask(); got != "sk-real" {
		t.Errorf("the upstream got the key %q", got)
	}
	s.inForce(s.save(strings.Replace(with, "X-Api-Key,", "X-Api-Key, agents: [nobody],", 1))) // fewer may use it
	if got := ask(); got != "" {
		t.Errorf("a key is put in for an agent that may not use it: %q", got)
	}
}

// The people whom a sidecar has in force answer, whatever is wrong with the file that was
// saved since.
func TestAFaultInTheFileKeepsNobodyFromAnswering(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := serveConfigured(t, teamConfig, "--upstream", "anthropic="+p.URL)
	s.asks("rm -rf waits")
	waits := s.held("rm -rf waits")
	s.save(teamConfig + "  eve: {roles: [approve], token_sha256: " + hashOf(evesToken) + "}\n")
	until(t, "a configuration that waits", func() bool { return s.config().Waiting != nil })
	if list := s.must("people", "list", "--config", s.file); strings.Contains(list, "eve") || !strings.Contains(list, "bob   approve         own") ||
		!strings.Contains(list, "ada   approve, admin  local") {
		t.Errorf("in force are\n%s", list)
	}
	s.save("peple: {}\n" + teamConfig)
	until(t, "a fault", func() bool { return s.config().Fault != "" })
	for _, args := range [][]string{{"pending"}, {"people", "list"}, {"audit", "query"}, {"approve", waits.ID, "--digest", waits.Call.Digest}} {
		r := s.run(append(args, "--config", s.file)...)
		if r.code != 0 || !strings.Contains(r.stderr, "warning: ") || !strings.Contains(r.stderr, "peple") {
			t.Errorf("%v: %v", args, r)
		}
	}
	if r := s.run("policy", "check", "--config", s.file); r.code == 0 {
		t.Errorf("what reads the file itself passes over its fault: %v", r)
	}
}
