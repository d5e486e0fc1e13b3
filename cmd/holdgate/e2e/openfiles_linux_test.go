package e2e_test

import (
	"net"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"
)

// Agents cannot take the descriptors that people are heard by, and by which the
// database is written.
func TestConnectionsOfAgentsLeaveDescriptorsForPeople(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := serve(t, nil, "--upstream", "anthropic="+p.URL, "--config", write(t, "holdgate.yaml", "listen: {ext_authz: \"127.0.0.1:0\"}\n"))
	filters := regexp.MustCompile(`(?m)^listens +(\S+) for ext_authz$`).FindStringSubmatch(s.must("status"))
	if filters == nil {
		t.Fatalf("the status names no door for filters: %s", s.must("status"))
	}
	ended := hold(t, s, "rm -rf one")
	held := s.held("rm -rf one")
	if err := unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 256, Max: 256}, nil); err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	for _, door := range []string{s.agents, s.approvers, filters[1]} {
		for range 300 {
			c, err := net.Dial("tcp", door)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			conns = append(conns, c)
		}
	}
	s.must("deny", held.ID, "--reason", "no")
	<-ended
	for _, c := range conns {
		_ = c.Close()
	}
	if got := turnOf(t, s, "ls"); got == "" {
		t.Error("with room again a call got no answer")
	}
}
