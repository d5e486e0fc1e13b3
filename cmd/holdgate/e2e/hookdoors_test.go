package e2e_test

import (
	"net"
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
