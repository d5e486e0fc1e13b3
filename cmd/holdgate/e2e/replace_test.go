package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// replace starts a sidecar that takes the place of this one.
func (s *sidecar) replace(args ...string) *sidecar {
	s.t.Helper()
	return serveIn(s.t, s.dir, nil, append(args, "--replace")...)
}

// madeWay waits until the process has ended in order.
func (s *sidecar) madeWay() {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(patience):
		s.t.Fatalf("the sidecar goes on beside the one that took its place\n%s", s.log())
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("the one whose place was taken ended with exit code %d\n%s", code, s.log())
	}
}

// ways are clients of all kinds, each of which makes a new connection for each request:
// at the agents' door straight, by HTTP/2, by MCP, and intercepted; and at the approvers'.
func ways(t *testing.T, s *sidecar, origin string) map[string]func() error {
	t.Helper()
	authority, err := os.ReadFile(filepath.Join(s.dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	clear := new(http.Protocols)
	clear.SetUnencryptedHTTP2(true)
	proxy, dir := &url.URL{Scheme: "http", Host: s.agents}, s.dir
	straight := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	h2 := func() *http.Client { return &http.Client{Transport: &http.Transport{Protocols: clear}} }
	intercepted := func(h2 bool) func() *http.Client {
		return func() *http.Client {
			return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), ForceAttemptHTTP2: h2, TLSClientConfig: &tls.Config{RootCAs: roots}}}
		}
	}
	socket := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "holdgate.sock"))
	}}}
	asks := func(client func() *http.Client, url, contentType, body, want string) func() error {
		return func() error {
			c := client()
			defer c.CloseIdleConnections()
			resp, err := c.Post(url, contentType, strings.NewReader(body))
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
				return fmt.Errorf("%s: %.300q %w", resp.Status, text, err)
			}
			return nil
		}
	}
	people := func(client *http.Client, host string) func() error {
		return func() error {
			resp, err := s.apiBy(client, host, http.MethodGet, "/v1/approvals?status=pending", "")
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
				return fmt.Errorf("%s %w", resp.Status, err)
			}
			return nil
		}
	}
	turn := string(turn("hello", agentKind{}))
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}`
	one := func() *http.Client { return straight }
	return map[string]func() error{
		"plain":                asks(one, s.base("anthropic")+"/v1/messages", "application/json", turn, done),
		"HTTP/2":               asks(h2, s.base("anthropic")+"/v1/messages", "application/json", turn, done),
		"intercepted":          asks(intercepted(false), origin+"/v1/messages", "application/json", turn, done),
		"intercepted, HTTP/2":  asks(intercepted(true), origin+"/v1/messages", "application/json", turn, done),
		"MCP":                  asks(one, "http://"+s.agents+"/mcp/files", "application/json", list, `"result"`),
		"people":               people(straight, s.approvers),
		"people on the socket": people(socket, "sidecar"),
	}
}

// While one sidecar takes another's place again and again, no client of any kind that
// makes a new connection sees anything of it, and what is held stays held.
func TestReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	p, files := newProvider(t), newFileServer(t)
	_, origin, authority := newTLSProvider(t)
	args := []string{"--config", write(t, "holdgate.yaml", roomy+"tls: {ca_files: ["+authority+"]}\n"),
		"--upstream", "anthropic=" + p.URL, "--upstream", "secure=" + origin, "--mcp", "files=" + files.URL}
	s := serve(t, nil, args...)

	held := []<-chan struct{}{hold(t, s, "rm -rf one"), hold(t, s, "rm -rf two")}
	before := []request{s.held("rm -rf one"), s.held("rm -rf two")}

	const least = 5 // requests of each kind at each sidecar
	var over atomic.Bool
	var work sync.WaitGroup
	counts := map[string]*atomic.Int64{}
	for kind, ask := range ways(t, s, origin) {
		if err := ask(); err != nil {
			t.Fatalf("the control of %s: %v", kind, err)
		}
		count := new(atomic.Int64)
		counts[kind] = count
		work.Go(func() {
			for tries := 0; !over.Load(); {
				err := ask()
				if tries++; err == nil {
					tries = 0
					count.Add(1)
					continue
				}
				// A request that takes more than five seconds is cut, on a machine that is busy.
				refused := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist)
				if t.Logf("%s, request %d: %v", kind, count.Load(), err); refused || tries == 3 {
					t.Errorf("%s: nobody answers (refused: %t)", kind, refused)
					return
				}
			}
		})
	}
	served := func() {
		for kind, count := range counts {
			from := count.Load()
			until(t, "requests of "+kind, func() bool { return count.Load() >= from+least || t.Failed() })
		}
	}
	for range 3 {
		served()
		next := s.replace(args...)
		if next.agents != s.agents || next.approvers != s.approvers {
			t.Errorf("the next one listens at %s and %s, not at %s and %s", next.agents, next.approvers, s.agents, s.approvers)
		}
		s.madeWay()
		s = next
	}
	served()
	over.Store(true)
	if work.Wait(); t.Failed() {
		t.Fatalf("the sidecars logged: %.20000s", s.log())
	}
	for _, ended := range held {
		<-ended
	}
	for _, want := range before {
		got := s.heldAs("request "+want.ID, func(r request) bool { return r.ID == want.ID })
		if got.Call.Digest != want.Call.Digest {
			t.Errorf("request %s is of another call: %s", want.ID, got.Call.Digest)
		}
	}
	again := hold(t, s, "rm -rf one")
	s.answer(before[0].ID, "approve")
	<-again
	if n := len(p.asked("rm -rf one")); n != 1 {
		t.Errorf("the model was asked %d times for what was stored", n)
	}
	s.must("audit", "verify")
	if log := s.must("audit", "export"); strings.Count(log, ", in the place of ") != 3 {
		t.Error("the log does not say three times that a sidecar took another's place")
	}
	if code := s.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, name := range []string{"holdgate.sock", "replace.sock"} {
		if _, err := os.Lstat(filepath.Join(s.dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there after the end: %v", name, err)
		}
	}
}

// An agent of `holdgate run` that uses the sidecar goes on with the next one: under its
// name, and with what it has asked.
func TestARunGoesOnAtTheNextSidecar(t *testing.T) {
	t.Parallel()
	for kind, flags := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			args := []string{"--upstream", "anthropic=" + p.URL}
			s := serveIn(t, stateDir(t), nil, args...)
			a := runAsker(t, s.dir, flags...)
			name := parse[struct{ Agent string }](t, strings.TrimSuffix(strings.TrimPrefix(a.ask(session), "200 "), " <nil>")).Agent
			for range 2 {
				next := s.replace(args...)
				s.madeWay()
				s = next
				if got := a.ask(session); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, `"agent":"`+name+`"`) {
					t.Fatalf("the agent is not served as %s: %s\n%s\n%s", name, got, a.stderr.String(), s.log())
				}
			}
			answer := make(chan string, 1)
			go func() {
				answer <- a.ask("http://DOOR/up/anthropic/v1/messages " + string(turn("run: rm -rf kept", agentKind{})))
			}()
			r := s.held("rm -rf kept")
			next := s.replace(args...)
			s.madeWay()
			if first := <-answer; !strings.HasPrefix(first, "503 ") && !strings.HasPrefix(first, "error ") { // cut, on a machine that is busy
				t.Errorf("the client is not told to ask again: %s", first)
			}
			if got := parse[struct {
				RunEnded any `json:"run_ended"`
			}](t, next.must("show", r.ID, "--json")); got.RunEnded != nil {
				t.Errorf("the request says that its run has ended: %v", got.RunEnded)
			}
			go func() {
				answer <- a.ask("http://DOOR/up/anthropic/v1/messages " + string(turn("run: rm -rf kept", agentKind{})))
			}()
			next.answer(r.ID, "approve", "--yes")
			if got := <-answer; !strings.HasPrefix(got, "200 ") || !strings.Contains(got, "toolu_rm_rf_kept") {
				t.Errorf("the call that was approved: %s", got)
			}
			_ = a.in.Close()
			<-a.ended
			if strings.Contains(a.stderr.String(), "has ended") {
				t.Errorf("the run was told that its sidecar ended: %s", a.stderr.String())
			}
			next.must("audit", "verify")
		})
	}
}

// A sidecar that does not start leaves the place to the one that runs.
func TestASuccessorThatDoesNotStart(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	args := []string{"--upstream", "anthropic=" + p.URL}
	broken := write(t, "mine.rego", brokenRule)
	s := serve(t, nil, args...)
	ended := hold(t, s, "rm -rf one")
	r := s.held("rm -rf one")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, fault := range map[string][]string{
		"a flag that is none":          {"--upstream", "none"},
		"a configuration that is none": {"--config", write(t, "holdgate.yaml", "nonsense: 1\n")},
		"a policy that does not load":  {"--policy", broken},
		"an address that is another's": {"--approvers", taken.Addr().String()},
	} {
		res := s.run(append([]string{"serve", "--replace", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0"}, fault...)...)
		if res.code == 0 {
			t.Errorf("%s: %v", name, res)
		}
		if got := s.heldAs("request after "+name, func(q request) bool { return q.ID == r.ID }); got.Status != "pending" {
			t.Errorf("%s: the request is %s", name, got.Status)
		}
		if got := turnOf(t, s, "ls"); !strings.Contains(got, "tool_use") {
			t.Errorf("%s: a call gets %s", name, got)
		}
	}
	<-ended
	again := hold(t, s, "rm -rf one")
	s.answer(r.ID, "approve")
	<-again
	next := s.replace(args...) // it can still be replaced
	s.madeWay()
	next.must("audit", "verify")
}

// Whoever is killed while one sidecar takes another's place, nothing that was acknowledged
// is lost, and nothing arrives twice or unapproved.
func TestCrashWhileOneTakesAnothersPlace(t *testing.T) {
	t.Parallel()
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := newCrash(t, seed, "", stateDir(t))
	c.outage = func() {
		old := c.side.Load()
		log, err := os.OpenFile(old.logPath(), os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		next := exec.Command(binary, "serve", "--replace", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0", "--log", "debug",
			"--config", c.config, "--upstream", "anthropic="+c.provider.URL, "--upstream", "openai="+c.provider.URL, "--mcp", "files="+c.files.URL)
		next.Env, next.Stderr = append(environment(), "HOLDGATE_STATE_DIR="+old.dir), log
		out, err := next.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := next.Start(); err != nil {
			t.Fatal(err)
		}
		ready := make(chan struct{})
		go func() {
			defer close(ready)
			_, _ = out.Read(make([]byte, 1))
		}()
		moment := time.After(time.Duration(c.rnd.IntN(1500)) * time.Millisecond)
		select { // any moment will do
		case <-moment:
		case <-ready:
		}
		first, second := old.cmd.Process, next.Process
		if c.rnd.IntN(2) == 0 {
			first, second = second, first
		}
		_ = first.Kill()
		select { // who is left is left alone for a while, or until it is ready
		case <-time.After(time.Duration(c.rnd.IntN(800)) * time.Millisecond):
		case <-ready:
		}
		_ = second.Kill()
		_ = next.Wait()
	}
	c.rounds(rounds)
}
