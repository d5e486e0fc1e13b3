package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals/socket/sockettest"
)

// A sidecar is a running `holdgate serve` and its state folder.
type sidecar struct {
	t                 *testing.T
	dir               string
	agents, approvers string // addresses
	cmd               *exec.Cmd
	exited            chan struct{}
}

// in is the sidecar as a test of its test uses it: what fails is that one.
func (s *sidecar) in(t *testing.T) *sidecar {
	sub := *s
	sub.t = t
	return &sub
}

// stateDir makes a state folder. Its path is short, for that of the socket in
// it has a limit which the test's own folder can exceed.
func stateDir(t *testing.T) string {
	t.Helper()
	dir := sockettest.Folder(t)
	return filepath.Join(dir, "s")
}

// serve starts a sidecar with a state folder of its own on any free ports.
func serve(t *testing.T, env []string, args ...string) *sidecar {
	t.Helper()
	return serveIn(t, stateDir(t), env, args...)
}

// serveIn starts a sidecar with this state folder.
func serveIn(t *testing.T, dir string, env []string, args ...string) *sidecar {
	t.Helper()
	return serveAt(t, t.TempDir(), dir, env, args...)
}

// serveAt starts a sidecar in a working directory, on any free ports, and
// waits until it is ready. It ends with the test.
func serveAt(t *testing.T, cwd, dir string, env []string, args ...string) *sidecar {
	t.Helper()
	return serveProgram(t, binary, cwd, dir, env, args...)
}

// serveProgram is serveAt with another program than the one under test.
func serveProgram(t *testing.T, program, cwd, dir string, env []string, args ...string) *sidecar {
	t.Helper()
	s := &sidecar{t: t, dir: dir, exited: make(chan struct{})}
	s.cmd = exec.Command(program, append([]string{"serve", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0", "--log", "debug"}, args...)...)
	s.cmd.Env = append(append(environment(), "HOLDGATE_STATE_DIR="+dir), env...)
	s.cmd.Dir = cwd
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.cmd.Stderr = log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.kill(); s.sound() })
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	err = s.ready(bufio.NewScanner(out))
	go func() { _ = s.cmd.Wait(); close(s.exited) }() // kill waits for it
	if err != nil {
		s.kill()
		t.Fatalf("starting serve: %v\n%s", err, s.log())
	}
	return s
}

// ready reads the lines that serve prints: one for each listener.
func (s *sidecar) ready(lines *bufio.Scanner) error {
	at := map[string]*string{"agents": &s.agents, "approvers": &s.approvers}
	for s.agents == "" || s.approvers == "" {
		if !lines.Scan() {
			return errors.Join(errors.New("it ended before it was ready"), lines.Err())
		}
		var l struct{ Listening, Addr string }
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return fmt.Errorf("reading %q: %w", lines.Text(), err)
		}
		if addr := at[l.Listening]; addr != nil && *addr == "" {
			*addr = l.Addr
		}
	}
	return nil
}

// logPath is beside the state folder, not in it: what is in there is searched
// for secrets on its own.
func (s *sidecar) logPath() string { return s.dir + ".log" }

// log is all that sidecars with this state folder have logged.
func (s *sidecar) log() string {
	b, err := os.ReadFile(s.logPath())
	if err != nil {
		s.t.Error(err)
	}
	return string(b)
}

// kill ends the process as a crash does. A second time does nothing.
func (s *sidecar) kill() {
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.exited
}

// sound looks into the log for what must never happen, whatever the test was
// about. The race detector writes there where the program was built with it.
func (s *sidecar) sound() {
	s.t.Helper()
	log := s.log()
	for _, sign := range []string{"WARNING: DATA RACE", "panic"} {
		if i := strings.Index(log, sign); i >= 0 {
			s.t.Errorf("the sidecar logged %.4000s", log[i:])
		}
	}
}

// stop ends the process as a service manager does and returns its exit code.
func (s *sidecar) stop() int {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-s.exited:
	case <-time.After(patience):
		s.t.Fatalf("serve goes on after SIGTERM\n%s", s.log())
	}
	return s.cmd.ProcessState.ExitCode()
}

// run runs a command against this sidecar.
func (s *sidecar) run(args ...string) result {
	s.t.Helper()
	return holdgate(s.t, []string{"HOLDGATE_STATE_DIR=" + s.dir}, args...)
}

// must runs a command against this sidecar and returns what it printed.
func (s *sidecar) must(args ...string) string {
	s.t.Helper()
	r := s.run(args...)
	if r.code != 0 {
		s.t.Fatalf("holdgate %s: %v", strings.Join(args, " "), r)
	}
	return r.stdout
}

// base is where a client finds the upstream of this name.
func (s *sidecar) base(upstream string) string { return "http://" + s.agents + "/up/" + upstream }

// A request is what a script sees of an approval request.
type request struct {
	ID, Status, Rule, Exchange string
	CreatedAt                  time.Time `json:"created_at"`
	Call                       struct {
		ID, Digest string
		Gate       json.RawMessage
		Tool       struct {
			Name         string
			Arguments    json.RawMessage
			ArgumentsRaw string `json:"arguments_raw"`
		}
	}
	Outcome *struct {
		Decision, By, Reason string
		Instructions         string
	}
}

// mentions reports whether the call's arguments, or what is said at a gate, hold
// text.
func (r request) mentions(text string) bool {
	return strings.Contains(string(r.Call.Tool.Arguments)+r.Call.Tool.ArgumentsRaw+string(r.Call.Gate), text)
}

// pending lists what `holdgate pending` prints.
func (s *sidecar) pending() []request {
	s.t.Helper()
	r := s.run("pending", "--json")
	if r.code != 0 && r.code != 4 {
		s.t.Fatalf("holdgate pending: %v", r)
	}
	return parse[[]request](s.t, r.stdout)
}

// answer answers a request as a script does, with a command and what follows the
// ID: what lets the call go on names the digest that it read.
func (s *sidecar) answer(id string, words ...string) string {
	s.t.Helper()
	args := slices.Insert(slices.Clone(words), 1, id)
	if words[0] == "approve" || words[0] == "choose" {
		args = append(args, "--digest", parse[request](s.t, s.must("show", id, "--json")).Call.Digest)
	}
	return s.must(args...)
}

// held waits until a call whose arguments hold text is pending.
func (s *sidecar) held(text string) request {
	s.t.Helper()
	return s.heldAs("a held call with "+text, func(r request) bool { return r.mentions(text) })
}

// heldAs waits until such a request is pending. It asks the socket, for a process
// each time would take the processor from the agent that it waits for; what it
// returns is what the command prints. An answer that ends before that let its call
// through, so that nothing is waited for.
func (s *sidecar) heldAs(what string, such func(request) bool, unless ...<-chan struct{}) (found request) {
	s.t.Helper()
	socket := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(s.dir, "holdgate.sock"))
	}}}
	defer socket.CloseIdleConnections()
	until(s.t, what, func() bool {
		for _, ended := range unless {
			select {
			case <-ended:
				s.t.Fatalf("the answer ended, and nobody was asked about %s", what)
			default:
			}
		}
		var list []request
		resp, err := s.apiBy(socket, "sidecar", http.MethodGet, "/v1/approvals?status=pending", "")
		if err != nil || json.Unmarshal([]byte(body(s.t, resp)), &list) != nil || !slices.ContainsFunc(list, such) {
			return false // perhaps it has not started
		}
		list = s.pending()
		i := slices.IndexFunc(list, such)
		if i >= 0 {
			found = list[i]
		}
		return i >= 0
	})
	return found
}

// An entry is what a script sees of an entry of the audit log.
type entry struct {
	Seq        uint64
	Type, Note string
	RequestID  string `json:"request_id"`
	Exchange   string
	Call       *struct{ ID, Digest, Kind string }
	Decision   *struct{ Action, Rule string }
	Outcome    *struct{ Decision, By string }
	Input      json.RawMessage
}

// entries is what `holdgate audit export` prints.
func (s *sidecar) entries() []entry {
	s.t.Helper()
	var all []entry
	for line := range strings.Lines(s.must("audit", "export")) {
		all = append(all, parse[entry](s.t, line))
	}
	return all
}

// api asks the approvers' door with the token, as a script with curl does.
func (s *sidecar) api(method, path string, body string) (*http.Response, error) {
	return s.apiBy(http.DefaultClient, s.approvers, method, path, body)
}

func (s *sidecar) apiBy(client *http.Client, host, method, path, body string) (*http.Response, error) {
	token, err := os.ReadFile(filepath.Join(s.dir, "approver.token"))
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(method, "http://"+host+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Content-Type", "application/json")
	return client.Do(req)
}

// body reads an answer to its end.
func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading an answer: %v", err)
	}
	return string(b)
}

// drain reads what comes until the connection ends, in whatever way.
func drain(resp *http.Response) { _, _ = io.Copy(io.Discard, resp.Body) }

// parse reads JSON that the product printed.
func parse[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("reading %.300q: %v", text, err)
	}
	return v
}
