package bench

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// processes are the peers of a run.
type processes struct {
	exe, dir  string
	upstream  *process
	goproxy   *process
	holdgate  *process
	inside    *inside // nil where nothing can be confined
	env       []string
	up, proxy peerAddrs
	agents    string // Holdgate's agents' door
	approvers string // and that of its approvers
	roots     *x509.CertPool
}

type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Reader
}

// noLimits lifts what bounds one agent, which is what would be measured, and
// gives policy time on a machine that is busy with something else too.
const noLimits = "limits: {pending: 1000000, held_bytes: 1024GiB, decisions_per_second: 1000000, log_bytes_per_hour: 1024GiB}\npolicy: {timeout: 5s}\n"

// startProcesses starts an upstream, goproxy and Holdgate with its shipped
// settings but for the limits of one agent, each on ports of its own. Where postgres
// is set, it is the URL of the database that Holdgate keeps its state in.
func startProcesses(ctx context.Context, exe, postgres string) (_ *processes, err error) {
	dir, err := os.MkdirTemp("", "holdgate-bench-")
	if err != nil {
		return nil, err
	}
	p := &processes{exe: exe, dir: dir, roots: x509.NewCertPool()}
	defer func() {
		if err != nil {
			p.stop()
		}
	}()
	if p.upstream, err = start(ctx, exe, nil, "bench", "--peer", "upstream"); err != nil {
		return nil, err
	}
	if err := p.upstream.read(&p.up); err != nil {
		return nil, fmt.Errorf("starting the upstream: %w", err)
	}
	caFile := filepath.Join(dir, "upstream.pem")
	if err := os.WriteFile(caFile, []byte(p.up.CA), 0o600); err != nil {
		return nil, err
	}
	env := []string{"SSL_CERT_FILE=" + caFile}
	p.env = env
	if p.goproxy, err = start(ctx, exe, env, "bench", "--peer", "goproxy"); err != nil {
		return nil, err
	}
	if err := p.goproxy.read(&p.proxy); err != nil {
		return nil, fmt.Errorf("starting goproxy: %w", err)
	}
	state := filepath.Join(dir, "state")
	settings := filepath.Join(dir, "holdgate.yaml")
	text := noLimits
	if postgres != "" {
		text += fmt.Sprintf("store: {postgres: {url: %q, member: bench}}\n", postgres)
	}
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if p.holdgate, err = start(ctx, exe, env, "--config", settings, "--state-dir", state, "serve", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0",
		"--upstream", "bench=http://"+p.up.HTTP, "--upstream", "benchtls=https://"+local(p.up.TLS), "--upstream", "benchh2=https://"+local(p.up.H2), "--mcp", "bench=http://"+p.up.HTTP+mcpFormat().path); err != nil {
		return nil, err
	}
	if err := p.readServe(); err != nil {
		return nil, fmt.Errorf("starting holdgate serve: %w", err)
	}
	ca, err := os.ReadFile(filepath.Join(state, "ca.pem"))
	if err != nil {
		return nil, err
	}
	for _, pem := range [][]byte{[]byte(p.up.CA), []byte(p.proxy.CA), ca} {
		p.roots.AppendCertsFromPEM(pem)
	}
	return p, nil
}

// readServe reads the lines that serve prints when it is ready.
func (p *processes) readServe() error {
	for range 8 {
		var line struct{ Listening, Addr string }
		if err := p.holdgate.read(&line); err != nil {
			return err
		}
		if line.Listening == "agents" {
			p.agents = line.Addr
		}
		if line.Listening == "approvers" {
			p.approvers = line.Addr
			break
		}
	}
	if p.agents == "" {
		return errors.New("it did not say where the agents' door is")
	}
	return nil
}

func start(ctx context.Context, exe string, env []string, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	ownGroup(cmd) // an interrupt at a terminal is for this process alone
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{cmd: cmd, stdin: in, lines: bufio.NewReader(out)}, nil
}

func (p *process) read(v any) error {
	line, err := p.lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

func (p *processes) stop() {
	if p.inside != nil {
		p.inside.stop()
	}
	for _, c := range []*process{p.holdgate, p.goproxy, p.upstream} {
		if c == nil {
			continue
		}
		_ = c.stdin.Close()
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		_ = c.cmd.Wait() // a peer that was told to end
	}
	_ = os.RemoveAll(p.dir)
}

// cpu is what a process has used so far: by the scheduler's own account where
// there is one (Linux), to the nanosecond.
func (p *process) cpu() time.Duration { return cpuOf(p.cmd.Process.Pid) }

func cpuOf(pid int) time.Duration {
	entries, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	var sum time.Duration
	for _, e := range entries {
		b, err := os.ReadFile(e)
		if err != nil {
			continue
		}
		var ran int64
		if _, err := fmt.Sscan(string(b), &ran); err == nil {
			sum += time.Duration(ran)
		}
	}
	return sum
}

// targets are the ways to the upstream that a scenario compares: direct first,
// then goproxy, then Holdgate.
func (p *processes) targets(s Scenario) []target {
	f := formatNamed(s.Format)
	path := choose(s.Stream, f.streamPath, f.path)
	request := func(uri, host string) []byte { return f.request(uri, host, s.Body, s.Stream) }
	none := func() time.Duration { return 0 }
	if s.Stdio {
		return p.stdioTargets([]byte(f.body(s.Body, false) + "\n"))
	}
	if !s.TLS {
		uri := "http://" + p.up.HTTP + path
		own := choose(s.Format == "mcp", "/mcp/bench", "/up/bench"+path)
		ways := []target{
			{direct, dialTCP(p.up.HTTP), request(path, p.up.HTTP), none, false, nil},
			{bare, dialTCP(p.proxy.HTTP), request(uri, p.up.HTTP), p.goproxy.cpu, false, nil},
			{baseURL, dialTCP(p.agents), request(own, p.agents), p.holdgate.cpu, false, nil},
			{forward, dialTCP(p.agents), request(uri, p.up.HTTP), p.holdgate.cpu, false, nil},
		}
		if p.inside != nil && s.Format != "mcp" {
			ways = append(ways, p.inside.transparent(p.up.HTTP, nil, request(path, p.up.HTTP), nil))
		}
		return ways
	}
	addr := local(p.up.TLS)
	conf := &tls.Config{RootCAs: p.roots, ServerName: "localhost", MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	req := request(path, addr)
	var h2 *h2Request
	if s.HTTP2 {
		addr = local(p.up.H2)
		conf.NextProtos, req, h2 = []string{"h2"}, nil, f.h2Request(addr, s.Body, s.Stream)
	}
	ways := []target{
		{direct, dialTLS(addr, "", conf), req, none, false, h2},
		{bare, dialTLS(addr, p.proxy.HTTP, conf), req, p.goproxy.cpu, false, h2},
		{forward, dialTLS(addr, p.agents, conf), req, p.holdgate.cpu, false, h2},
	}
	if p.inside != nil {
		ways = append(ways, p.inside.transparent(choose(s.HTTP2, p.up.H2, p.up.TLS), conf, req, h2))
	}
	return ways
}

// local is an address of this host by the name that certificates are for.
func local(addr string) string { return "localhost:" + addr[strings.LastIndexByte(addr, ':')+1:] }
