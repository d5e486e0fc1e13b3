package sdktest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"testing"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// Process starts a program that is a channel, as Holdgate does: with nothing of
// the environment, the handshake, mutual TLS, and a pipe as standard input that
// stays open. It is ended with the test. What it wrote to standard error is
// logged where the test has failed.
func Process(t *testing.T, command ...string) *sdk.Remote {
	t.Helper()
	p := &program{}
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: sdk.Handshake(), VersionedPlugins: sdk.Plugins(nil), AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		AutoMTLS: true, SkipHostEnv: true, StartTimeout: deadline,
		Logger: hclog.New(&hclog.LoggerOptions{Output: io.Discard}),
		RunnerFunc: func(_ hclog.Logger, like *exec.Cmd, _ string) (runner.Runner, error) {
			p.cmd = exec.Command(command[0], command[1:]...)
			p.cmd.Env, p.cmd.Stderr = like.Env, &p.said
			var in, out error
			p.stdin, in = p.cmd.StdinPipe()
			p.stdout, out = p.cmd.StdoutPipe()
			return p, errors.Join(in, out)
		},
	})
	t.Cleanup(func() {
		client.Kill() // returns when the process has ended
		if t.Failed() && p.cmd != nil && p.cmd.ProcessState != nil {
			t.Logf("%s wrote:\n%s", command[0], p.said.Bytes())
		}
	})
	conn, err := client.Client()
	if err != nil {
		t.Fatalf("starting %s: %v", command[0], err)
	}
	r, err := sdk.Dispense(conn)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A program is go-plugin's view of a process that has a pipe as standard input:
// go-plugin's own would hand it the test's, which has ended.
type program struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser // closed once the process has ended
	stdout io.ReadCloser
	said   bytes.Buffer // on standard error; whole once the process has ended
}

var _ runner.Runner = (*program)(nil)

// Start implements [runner.Runner].
func (p *program) Start(context.Context) error { return p.cmd.Start() }

// Wait implements [runner.AttachedRunner].
func (p *program) Wait(context.Context) error { return p.cmd.Wait() }

// Kill implements [runner.AttachedRunner].
func (p *program) Kill(context.Context) error {
	if p.cmd.Process == nil {
		return nil
	}
	return p.cmd.Process.Kill()
}

// ID implements [runner.AttachedRunner].
func (p *program) ID() string {
	if p.cmd.Process == nil {
		return ""
	}
	return strconv.Itoa(p.cmd.Process.Pid)
}

// Name implements [runner.Runner].
func (p *program) Name() string { return p.cmd.Path }

// Stdout implements [runner.Runner].
func (p *program) Stdout() io.ReadCloser { return p.stdout }

// Stderr implements [runner.Runner]. It is empty: what the process writes there
// is no log of go-plugin's.
func (p *program) Stderr() io.ReadCloser { return io.NopCloser(bytes.NewReader(nil)) }

// Diagnose implements [runner.Runner].
func (p *program) Diagnose(context.Context) string { return "" }

// PluginToHost implements [runner.AddrTranslator].
func (p *program) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

// HostToPlugin implements [runner.AddrTranslator].
func (p *program) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}
