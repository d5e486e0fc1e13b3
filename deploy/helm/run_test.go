package helm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"

	"github.com/holdgate/holdgate/deploy/program"
)

// staticAsRoot is the program, where the test may give it a network of its own.
func staticAsRoot(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: a network of its own takes root")
	}
	return program.Static(t)
}

// A pod runs what the chart's pod runs, in folders of its own.
type pod struct {
	file, dir, config string
	keys              []string // arguments of the init container, if there is one
	end               func()
}

// newPod lays out what the chart renders with these values.
func newPod(t *testing.T, file, values string) *pod {
	t.Helper()
	text, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	p := &pod{file: file, dir: t.TempDir(), end: func() {}}
	p.config = filepath.Join(p.dir, "holdgate.yaml")
	inPlace := strings.NewReplacer("/etc/holdgate-rules", filepath.Join(p.dir, "rules"), "/var/lib/holdgate/state", filepath.Join(p.dir, "state"))
	objects := decode(t, text)
	for _, c := range workloadOf(t, objects).pod.Spec.InitContainers {
		for _, arg := range c.Args {
			p.keys = append(p.keys, inPlace.Replace(arg))
		}
	}
	for _, o := range objects {
		m, ok := o.(*core.ConfigMap)
		if !ok {
			continue
		}
		for name, text := range m.Data {
			path := p.config
			if name != "holdgate.yaml" {
				path = filepath.Join(p.dir, "rules", name)
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(inPlace.Replace(text)), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p
}

// init runs the init container, with the Secret in a folder.
func (p *pod) init(t *testing.T, secret string) {
	t.Helper()
	args := strings.Split(strings.ReplaceAll(strings.Join(p.keys, "\n"), "/etc/holdgate-shared", secret), "\n")
	cmd := exec.CommandContext(t.Context(), p.file, args...)
	cmd.Env = []string{"HOME=" + p.dir}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// start starts Holdgate, and returns what it prints.
func (p *pod) start(t *testing.T) *output {
	t.Helper()
	said := &output{}
	serve := exec.CommandContext(context.WithoutCancel(t.Context()), p.file, "serve", "--config", p.config)
	serve.Env = []string{"TMPDIR=" + p.dir, "HOME=" + p.dir}
	serve.Stdout, serve.Stderr = said, os.Stderr
	serve.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	p.end = sync.OnceFunc(func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		_ = serve.Wait()
	})
	t.Cleanup(func() { p.end() })
	return said
}

// An output is what a process has printed so far.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the process has printed a text: it may answer before what it printed is read.
func (o *output) await(t *testing.T, text string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(time.Minute); !strings.Contains(o.String(), text); <-tick.C {
		if time.Now().After(until) {
			t.Fatalf("it never printed %q:\n%s", text, o)
		}
	}
}

// await waits until /readyz has a status, with a text in its answer.
func (p *pod) await(t *testing.T, status int, text string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(3 * time.Minute); ; <-tick.C {
		got, body := p.ready(t)
		if got == status && strings.Contains(body, text) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("/readyz is %d: %s; want %d with %q", got, body, status, text)
		}
	}
}

// ready asks /readyz at the socket.
func (p *pod) ready(t *testing.T) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(p.dir, "state", "holdgate.sock"))
	}}}
	resp, err := client.Get("http://localhost/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// postgres starts a server that listens on a socket alone, and returns the address of a database there.
func postgres(t *testing.T) string {
	t.Helper()
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(programs) == 0 {
		t.Skip("SKIPPED, NOT TESTED: PostgreSQL is not installed (Debian: apt-get install postgresql)")
	}
	bin := filepath.Dir(programs[len(programs)-1])
	dir, err := os.MkdirTemp("", "chart-postgres-") // a path that a socket's name has room for
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("runuser", append([]string{"-u", "postgres", "--"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if out, err := exec.Command("chown", "postgres", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data := filepath.Join(dir, "data")
	run(filepath.Join(bin, "initdb"), "--auth=trust", "--no-sync", "--pgdata="+data)
	run(filepath.Join(bin, "pg_ctl"), "--pgdata="+data, "--wait", "--log="+filepath.Join(dir, "log"), "--options=-k "+dir+" -c listen_addresses=''", "start")
	t.Cleanup(func() { run(filepath.Join(bin, "pg_ctl"), "--pgdata="+data, "--mode=immediate", "stop") })
	return "postgres://postgres@/postgres?host=" + dir
}
