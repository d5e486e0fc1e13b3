package e2e_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// writeStateVariable names the archive that TestWriteAState makes of a state folder
// that the binary under test has written. Its key files and its token are made for
// that folder alone, and its agents' only other end is a stand-in.
//
//	HOLDGATE_WRITE_STATE=testdata/state-3.tar.gz go test ./cmd/holdgate/e2e -run TestWriteAState
//
// An archive that is there stays as it is: every later version has to open it.
const writeStateVariable = "HOLDGATE_WRITE_STATE"

// seenFile is what people saw of the state when it was written, by the command
// that printed it.
const seenFile = "seen.json"

// pendingPath shows what waits for people.
const pendingPath = "/v1/approvals?status=pending"

// olderToken is what a proven agent of the fixture shows.
func olderToken(agent string) string { return "fixture-token-of-" + agent }

// olderRedirect waits for the agent's next request.
const olderRedirect = "Mind the lexer."

const (
	olderConfig = `approver: ada
people:
  ada: {roles: [approve, operate, admin]}
  ben: {token_sha256: "abababababababababababababababababababababababababababababababab", roles: [approve, operate]}
agents:
  reviewer: {token_sha256: "%x"}
  nightly: {token_sha256: "%x"}
  rogue: {token_sha256: "%x"}
limits: {redeem: 3650d, grant: 3650d}
gates: {design_review: {timeout: 8760h}}
retention: {requests: 3650d, events: 3650d}
plugins:
  webhook:
    config: {url: %q, secret_file: %q}
`
	olderRules = `package holdgate.custom.older

decisions contains {"action": "hold", "rule": "older.one", "risk": "medium", "reason": "One person.", "hold": {"timeout": "8760h"}} if {
	contains(input.tool.arguments.command, "held")
}

decisions contains {"action": "hold", "rule": "older.two", "risk": "medium", "reason": "Two people.", "hold": {"timeout": "8760h", "approvers": {"quorum": 2}}} if {
	contains(input.tool.arguments.command, "both")
}
`
)

// olderSidecar serves a state folder with the fixture's configuration.
func olderSidecar(t *testing.T, dir string, p *provider, told *receiver) *sidecar {
	t.Helper()
	shown := func(agent string) [sha256.Size]byte { return sha256.Sum256([]byte(olderToken(agent))) }
	secret := write(t, "webhook.secret", "the fixture's")
	config := write(t, "holdgate.yaml", fmt.Sprintf(olderConfig, shown("reviewer"), shown("nightly"), shown("rogue"), told.URL, secret))
	return serveIn(t, dir, nil, "--config", config, "--policy", write(t, "older.rego", olderRules),
		"--upstream", "anthropic="+p.URL, "--mcp", "files="+toolServer(t).URL)
}

// toolServer is an MCP server with one tool.
func toolServer(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read_file","description":"Reads.","inputSchema":{"type":"object"}}]}}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// turnOf is a turn of a proven agent in a session.
func (s *sidecar) turnOf(agent, session, command string) *http.Request {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://"+s.agents+"/as/"+olderToken(agent)+"/up/anthropic/v1/messages",
		bytes.NewReader(turn("run: "+command, agentKind{stream: true})))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Id", session)
	return req
}

// asAgent sends a turn. The channel gives what came of it.
func (s *sidecar) asAgent(agent, session, command string) <-chan string {
	s.t.Helper()
	req, out := s.turnOf(agent, session, command), make(chan string, 1)
	go func() {
		defer close(out)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return // the sidecar may be on its way out
		}
		defer resp.Body.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body) // the same
		out <- b.String()
	}()
	return out
}

// agentAsks asks the agents' API as the proven agent.
func (s *sidecar) agentAsks(method, path, session, asked string) string {
	s.t.Helper()
	req, err := http.NewRequest(method, "http://"+s.agents+"/as/"+olderToken("reviewer")+path, strings.NewReader(asked))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Id", session)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	got := body(s.t, resp)
	if resp.StatusCode >= http.StatusBadRequest {
		s.t.Fatalf("%s %s: status %d: %s", method, path, resp.StatusCode, got)
	}
	return got
}

// seen is what people are shown of all that a state folder holds, by the path that
// showed it.
func (s *sidecar) seen() map[string]json.RawMessage {
	s.t.Helper()
	paths := []string{pendingPath, "/v1/grants", "/v1/agents", "/v1/sessions"}
	for _, r := range parse[[]request](s.t, string(s.fetched("/v1/approvals"))) {
		paths = append(paths, "/v1/approvals/"+r.ID)
	}
	all := map[string]json.RawMessage{}
	for _, path := range paths {
		all[path] = s.fetched(path)
	}
	return all
}

// fetched is what the approvers' door answers to a GET.
func (s *sidecar) fetched(path string) json.RawMessage {
	s.t.Helper()
	resp, err := s.api(http.MethodGet, path, "")
	if err != nil {
		s.t.Fatal(err)
	}
	got := body(s.t, resp)
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: status %d: %s", path, resp.StatusCode, got)
	}
	return json.RawMessage(got)
}

// TestWriteAState fills a state folder as agents and people do, and packs it: for every later
// version where the variable says where, and else so that it can be done when it is wanted.
func TestWriteAState(t *testing.T) {
	t.Parallel()
	archive := cmp.Or(os.Getenv(writeStateVariable), filepath.Join(t.TempDir(), "state.tar.gz"))
	dir, p, told := stateDir(t), newProvider(t), newReceiver(t)
	s := olderSidecar(t, dir, p, told)
	gone := s.asAgent("reviewer", "work-1", "echo held redeemed")
	r := s.held("echo held redeemed")
	s.stop()
	<-gone
	s = olderSidecar(t, dir, p, told)
	s.answer(r.ID, "approve", "--yes") // the outcome waits for its call to come again
	live := s.fill()
	seen, err := json.MarshalIndent(s.seen(), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if code := s.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, ended := range live {
		<-ended
	}
	if err := os.RemoveAll(filepath.Join(s.dir, "holdgate.sock")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, seenFile), seen, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := pack(archive, s.dir); err != nil {
		t.Fatal(err)
	}
}

// fill does in a fresh sidecar what the fixture holds. What it returns ends with
// the sidecar.
func (s *sidecar) fill() (live []<-chan string) {
	s.t.Helper()
	decide := func(command string, answer ...string) {
		s.t.Helper()
		out := s.asAgent("reviewer", "work-1", command)
		r := s.held(command)
		s.answer(r.ID, answer...)
		if <-out == "" {
			s.t.Fatalf("%s: no answer", command)
		}
	}
	s.agentAsks(http.MethodPost, "/mcp/files", "work-1", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	decide("echo held approved", "approve", "--yes")
	decide("echo held denied", "deny", "--reason", "not today")
	decide("echo held steered", "steer", "do less")
	decide("echo held remembered", "approve", "--yes", "--remember", "exact", "--scope", "agent", "--for", "3600d")
	out := s.asAgent("reviewer", "work-1", "echo held edited")
	s.edit(s.held("echo held edited"), `{"command":"ls edited"}`)
	<-out
	s.agentAsks(http.MethodPost, "/v1/confidence", "work-1", `{"task_id":"t1","score":97,"reasons":["all tests pass"]}`)
	s.agentAsks(http.MethodPost, "/v1/gates", "work-1", `{"type":"before_commit","message":"may I commit?"}`)
	s.answer(s.held("may I commit?").ID, "approve", "--yes")
	s.agentAsks(http.MethodPost, "/v1/gates", "work-2", `{"type":"design_review","message":"which way?","artifacts":["plan.md"]}`)
	s.agentAsks(http.MethodPost, "/v1/messages", "work-1", `{"type":"status","content":"I begin with the parser"}`)
	<-s.asAgent("nightly", "work-3", "echo hello")
	<-s.asAgent("rogue", "work-4", "echo hello")
	s.must("pause", "nightly", "--reason", "until monday")
	s.must("stop", "rogue", "--reason", "it lied")
	live = append(live, s.asAgent("reviewer", "work-1", "echo held pending"), s.asAgent("reviewer", "work-2", "echo both voted"))
	s.held("echo held pending")
	s.answer(s.held("echo both voted").ID, "approve", "--yes")
	s.must("sessions", "set", "work-2", "--mode", "manual")
	s.must("redirect", "reviewer", olderRedirect)
	return live
}

// TestAnOlderStateOpens: what earlier versions wrote is all there: what is pending,
// votes, grants, sessions, who is paused, a redirect that waits for its agent, and a
// log that verifies.
func TestAnOlderStateOpens(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob(filepath.Join("testdata", "state-*.tar.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no state was written by an earlier version: %v", err)
	}
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			t.Parallel()
			dir := stateDir(t)
			if err := unpack(archive, dir); err != nil {
				t.Fatal(err)
			}
			opensOlder(t, dir)
		})
	}
}

func opensOlder(t *testing.T, dir string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, seenFile))
	if err != nil {
		t.Fatal(err)
	}
	p, told := newProvider(t), newReceiver(t)
	s := olderSidecar(t, dir, p, told)
	s.must("audit", "verify")
	seen := parse[map[string]json.RawMessage](t, string(b))
	waits := parse[[]struct {
		ExpiresAt time.Time `json:"expires_at"`
	}](t, string(seen[pendingPath]))
	if time.Now().After(waits[0].ExpiresAt) { // a year is the longest that a request can wait
		t.Skip("what was pending has timed out; write another archive beside this one")
	}
	for path, raw := range seen {
		was, is := parse[any](t, string(raw)), parse[any](t, string(s.fetched(path)))
		if at := lacks(is, was, ""); at != "" {
			t.Errorf("GET %s: %s\nwas: %s\nis:  %v", path, at, raw, is)
		}
	}
	s.must("sessions", "set", "work-2", "--mode", "auto")
	s.must("sessions", "set", "work-1", "--mode", "auto")
	if <-s.asAgent("reviewer", "work-1", "echo hello"); len(p.asked(olderRedirect)) != 1 {
		t.Error("the redirect should be in the agent's next request")
	}
	if out := <-s.asAgent("reviewer", "work-2", "echo held remembered"); !strings.Contains(out, "message_stop") {
		t.Errorf("the grant should answer: %s", out)
	}
	r := s.held("echo both voted")
	resp, err := s.api(http.MethodPost, "/v1/approvals/"+r.ID+"/decision", `{"decision":"approve","digest":`+quoted(r.Call.Digest)+`}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := body(t, resp); resp.StatusCode == http.StatusOK && strings.Contains(got, `"status":"approved"`) {
		t.Errorf("ada has voted already: %s", got)
	}
	s.must("deny", r.ID)
	s.must("audit", "verify")
}

// lacks says where is has not what was had, or "". More may have come, and what
// the process alone has seen of an agent does not count, nor what was counted of calls
// that were not the same.
func lacks(is, was any, at string) string {
	switch was := was.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		if !ok {
			return at + ": gone"
		}
		for name, v := range was {
			if slices.Contains([]string{"first_seen", "last_seen", "doors", "sessions", "counts", "lately", "similar"}, name) {
				continue
			}
			if missing := lacks(is[name], v, at+"."+name); missing != "" {
				return missing
			}
		}
	case []any:
		is, ok := is.([]any)
		if !ok {
			return at + ": gone"
		}
		for i, v := range was {
			if session, ok := v.(map[string]any); ok && session["revision"] == 0. {
				continue // nothing of it was stored
			}
			j := slices.IndexFunc(is, func(other any) bool { return lacks(other, v, "") == "" })
			if j < 0 {
				return fmt.Sprintf("%s[%d]: gone", at, i)
			}
		}
	default:
		if is != was {
			return fmt.Sprintf("%s: %v, was %v", at, is, was)
		}
	}
	return ""
}

// pack writes a folder's files as an archive; sockets are left out.
func pack(archive, dir string) (err error) {
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(archive, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	return errors.Join(w.Close(), z.Close())
}

func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o700); err != nil {
				return err
			}
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), copyInto(path, r)); err != nil {
			return err
		}
	}
}

func copyInto(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
