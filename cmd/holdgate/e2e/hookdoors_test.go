package e2e_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// A sidecar that is there and does not answer is not away: who could stop it would else
// have calls go on.
func TestAHookWhoseSidecarHangsRefuses(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ended := ends(t, hookRun(t, ln.Addr().String(), "claude", "ls", "--fail", "open", "--wait", "0s"))
	if r := <-ended; r.code != 2 || !strings.Contains(r.stderr, "does not answer in time") {
		t.Errorf("a hook whose sidecar hangs: %v", r)
	}
}

// The door in the agent's settings comes before the one in its environment, which the agent
// can set; where nobody listens at the first, it is the second, as in a sandbox.
func TestWhereAHookAsks(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	cmd := hookRun(t, s.agents, "claude", "ls")
	cmd.Env = append(cmd.Env, "HOLDGATE_AGENTS=127.0.0.1:1")
	if r := finish(t, cmd); r.code != 0 {
		t.Errorf("the settings' door was not asked: %v", r)
	}
	cmd = hookRun(t, "127.0.0.1:1", "claude", "ls")
	cmd.Env = append(cmd.Env, "HOLDGATE_AGENTS="+s.agents)
	if r := finish(t, cmd); r.code != 0 {
		t.Errorf("the environment's door was not asked: %v", r)
	}
}

// A program that listens where a hook asks cannot have a call go on: neither by its own
// word, nor by what the sidecar has said of another call, or before.
func TestAHookBelievesItsOwnSidecarAlone(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	key := filepath.Join(s.dir, "hook.key")
	send := func(r *http.Request, body []byte) *http.Response {
		out, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+s.agents+r.URL.String(), bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			panic(http.ErrAbortHandler)
		}
		out.Header = r.Header
		resp, err := http.DefaultClient.Do(out)
		if err != nil {
			t.Error(err)
			panic(http.ErrAbortHandler)
		}
		return resp
	}
	pass := func(w http.ResponseWriter, resp *http.Response) {
		defer resp.Body.Close()
		for name := range resp.Header {
			w.Header().Set(name, resp.Header.Get(name))
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}
	var earlier string
	for _, c := range []struct {
		name   string
		answer func(w http.ResponseWriter, r *http.Request, told []byte)
		goesOn bool
	}{
		{"what only passes it on is no danger", func(w http.ResponseWriter, r *http.Request, told []byte) {
			resp := send(r, told)
			earlier = resp.Header.Get("Holdgate-Proof")
			pass(w, resp)
		}, true},
		{"its own word", func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			_, _ = io.WriteString(w, `{"status":"approved"}`+"\n")
		}, false},
		{"the sidecar's word for another call", func(w http.ResponseWriter, r *http.Request, told []byte) {
			pass(w, send(r, bytes.Replace(told, []byte("touch"), []byte("ls"), 1)))
		}, false},
		{"its word of before", func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set("Holdgate-Proof", earlier)
			_, _ = io.WriteString(w, `{"status":"approved"}`+"\n")
		}, false},
	} {
		fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			told, _ := io.ReadAll(r.Body)
			c.answer(w, r, told)
		}))
		door := strings.TrimPrefix(fake.URL, "http://")
		r := finish(t, hookRun(t, door, "claude", "touch one", "--key", key, "--wait", "0s"))
		if (r.code == 0) != c.goesOn || !c.goesOn && !strings.Contains(r.stderr, "does not prove that it is the sidecar of the state folder "+s.dir) {
			t.Errorf("%s: %v", c.name, r)
		}
		if r := finish(t, hookRun(t, door, "claude", "touch two", "--wait", "0s")); r.code != 0 {
			t.Errorf("%s: without a key any word should count: %v", c.name, r)
		}
		fake.Close()
	}
}

// Where the state folder is masked, as in a sandbox, the door of the environment is asked,
// and no other; where it is not, a key that is gone lets nothing go on.
func TestAHookInASandboxAsksTheSandboxsDoor(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	masked := filepath.Join(t.TempDir(), "hook.key")
	cmd := hookRun(t, "127.0.0.1:1", "claude", "ls", "--key", masked)
	cmd.Env = append(cmd.Env, "HOLDGATE_AGENTS="+s.agents)
	if r := finish(t, cmd); r.code != 0 {
		t.Errorf("the sandbox's door was not asked: %v", r)
	}
	for name, key := range map[string]string{"outside of a sandbox": masked, "where the key alone is gone": filepath.Join(s.dir, "none.key")} {
		cmd := hookRun(t, s.agents, "claude", "ls", "--key", key)
		if name != "outside of a sandbox" {
			cmd.Env = append(cmd.Env, "HOLDGATE_AGENTS="+s.agents)
		}
		if r := finish(t, cmd); r.code != 2 || !strings.Contains(r.stderr, "install the hook again") {
			t.Errorf("%s: %v", name, r)
		}
	}
}

// A question names the agent's program and the folder that it says it is in, both as its word.
func TestAQuestionOfAHookSaysWhoAsksAndWhere(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	finish(t, hookRun(t, s.agents, "codex", "rm -rf /srv/app/here", "--wait", "0s"))
	shown := s.must("show", s.held("/srv/app/here").ID)
	for _, want := range []string{"(asserted: its own word), says it is codex", "/srv/app/project, as the agent says: not checked"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the question does not say %q:\n%s", want, shown)
		}
	}
	// So do the entries of the log, by which an auditor finds them.
	finish(t, hookRun(t, s.agents, "codex", "ls", "--wait", "0s"))
	for _, action := range []string{"hold", "allow"} {
		logged := s.must("audit", "query", "--agent", "codex", "--action", action)
		for _, want := range []string{"default (its own word), says it is codex", "folder  /srv/app/project, as the agent says: not checked"} {
			if !strings.Contains(logged, want) {
				t.Errorf("the entry of what policy says %s of does not say %q:\n%s", action, want, logged)
			}
		}
	}
}
