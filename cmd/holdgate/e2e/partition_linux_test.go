package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdgate/holdgate/store/postgres/pgtest"
)

// partitionVariable is set inside the network of TestAPartition.
const partitionVariable = "HOLDGATE_TEST_PARTITION"

// Where the database is inside, for the sidecar that is cut off and for the other.
const (
	cutOffAddress = "127.0.0.9"
	otherAddress  = "127.0.0.10"
)

// A sidecar that is cut off from the database, in one direction or both, releases
// nothing. The other one takes over, agents get from it what was approved there, once,
// and afterwards the first one ends. All of it happens in a network of the test's own,
// whose packets are dropped.
func TestAPartition(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: partitions are not tried: a network of the test's own needs root")
	}
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("SKIPPED: partitions are not tried: the program nft is not here (apt-get install nftables)")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInsideAPartition$", "-test.v")
	cmd.Env = append(environment(), partitionVariable+"=1", "HOLDGATE_BINARY="+binary)
	all := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 65535}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: all, GidMappings: all, GidMappingsEnableSetgroups: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("SKIPPED: partitions are not tried: no namespaces here: %v", err)
	}
	if err != nil || strings.Contains(string(out), "--- SKIP") {
		t.Fatalf("inside: %v\n%s", err, out)
	}
}

// TestInsideAPartition is the inside of TestAPartition.
func TestInsideAPartition(t *testing.T) {
	if os.Getenv(partitionVariable) == "" {
		t.Skip("it is the inside of another test")
	}
	succeed(t, "ip", "link", "set", "lo", "up")
	succeed(t, "nft", "add", "table", "inet", "cut")
	succeed(t, "nft", "add", "chain", "inet", "cut", "out", "{ type filter hook output priority 0; }")
	server := pgtest.Start(t, "listen_addresses="+cutOffAddress+","+otherAddress)
	for i, directions := range [][]string{{"daddr", "saddr"}, {"saddr"}, {"daddr"}} {
		t.Run(strings.Join(directions, " and "), func(t *testing.T) { partition(t, fmt.Sprint("part", i), server, directions) })
	}
}

// partition cuts the first of two sidecars off: the packets from or to its address of
// the database are dropped.
func partition(t *testing.T, schema string, server *pgtest.Server, directions []string) {
	if err := server.Exec("CREATE SCHEMA " + schema); err != nil {
		t.Fatal(err)
	}
	dirs := twinFolders(t)
	p := newProvider(t)
	at := func(address string) []string {
		file := write(t, "holdgate.yaml", fmt.Sprintf("store: {postgres: {url: \"postgres://holdgate@%s/postgres?search_path=%s\", take_over: 1s}}\n", address, schema))
		return []string{"--config", file, "--upstream", "anthropic=" + p.URL}
	}
	first := serveIn(t, dirs[0], nil, at(cutOffAddress)...)
	waiting := first.asks("rm -rf held")
	r := waiting.held()
	awaitKeptAnswer(t, pgtest.Address(server.Socket, "postgres")+"&search_path="+schema)
	ready := make(chan *sidecar)
	go func() { ready <- serveIn(t, dirs[1], nil, at(otherAddress)...) }()
	for _, d := range directions {
		succeed(t, "nft", "add", "rule", "inet", "cut", "out", "ip", d, cutOffAddress, "drop")
	}
	second := <-ready
	var meanwhile sync.WaitGroup
	meanwhile.Go(func() { first.run("approve", r.ID, "--digest", r.Call.Digest) }) // it cannot take effect there
	passed := make(chan string, 1)
	go func() { passed <- askTurn(first, "ls") }() // policy allows this, and it can't be logged
	second.must("approve", r.ID, "--digest", r.Call.Digest)
	if got := askTurn(second, "rm -rf held"); !strings.Contains(got, "rm -rf held") {
		t.Errorf("the other one does not release what was approved: %s", got)
	}
	if got := waiting.String(); strings.Contains(got, "tool_use") {
		t.Errorf("it was released by the one that is cut off: %s", got)
	}
	succeed(t, "nft", "flush", "chain", "inet", "cut", "out")
	select {
	case <-first.exited:
	case <-time.After(patience):
		t.Fatalf("the first one goes on\n%s", first.log())
	}
	<-waiting.ended
	meanwhile.Wait()
	for what, got := range map[string]string{"rm -rf held": waiting.String(), "ls": <-passed} {
		if strings.Contains(got, "tool_use") {
			t.Errorf("%s was released by the one that had lost the store: %s", what, got)
		}
	}
	if types := second.typesOf(r); strings.Count(strings.Join(types, " "), "used") != 1 {
		t.Errorf("the log has %v", types)
	}
	second.must("audit", "verify")
	second.stop()
}
