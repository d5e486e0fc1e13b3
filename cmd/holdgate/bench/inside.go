package bench

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// An inside is a process that `holdgate run` confines, and whose connections it
// hands out: what goes over them comes out at the transparent door. It is safe
// for concurrent use.
type inside struct {
	mu   sync.Mutex
	cmd  *exec.Cmd // holdgate run, with a sidecar of its own
	conn *net.UnixConn
}

// confine starts one, whose sidecar has the settings of the other.
func (p *processes) confine(ctx context.Context) (err error) {
	p.inside, err = p.startInside(ctx)
	return err
}

func (p *processes) startInside(ctx context.Context) (*inside, error) {
	work, state := filepath.Join(p.dir, "work"), filepath.Join(p.dir, "inside")
	if err := os.Mkdir(work, 0o700); err != nil {
		return nil, err
	}
	program := filepath.Join(work, "holdgate") // a copy: where this one lies may be hidden inside
	if err := copyProgram(p.exe, program); err != nil {
		return nil, err
	}
	ours, theirs, err := streams()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, p.exe, "--config", filepath.Join(p.dir, "holdgate.yaml"), "--state-dir", state, "run",
		"--upstream", "bench=http://"+p.up.HTTP, "--upstream", "benchtls=https://"+local(p.up.TLS), "--upstream", "benchh2=https://"+local(p.up.H2), "--", program, "bench", "--peer", "dial")
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Dir, cmd.Stdin, cmd.Stderr = work, theirs, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := errors.Join(cmd.Start(), theirs.Close()); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	in := &inside{cmd: cmd, conn: ours.(*net.UnixConn)}
	c, err := in.dial(ctx, p.up.HTTP) // where it cannot be confined, this ends
	if err != nil {
		in.stop()
		return nil, fmt.Errorf("the transparent door is not measured: %w", err)
	}
	ca, err := os.ReadFile(filepath.Join(state, "ca.pem"))
	if err != nil {
		in.stop()
		return nil, errors.Join(err, c.Close())
	}
	p.roots.AppendCertsFromPEM(ca)
	return in, c.Close()
}

func copyProgram(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o700)
}

func (in *inside) stop() {
	_ = in.conn.Close()
	_ = in.cmd.Wait() // the end of its input ends it
}

func (in *inside) cpu() time.Duration { return cpuOf(in.cmd.Process.Pid) }

// dial has the process inside connect to an address.
func (in *inside) dial(ctx context.Context, addr string) (net.Conn, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	defer context.AfterFunc(ctx, func() { _ = in.conn.Close() })()
	if _, err := io.WriteString(in.conn, addr+"\n"); err != nil {
		return nil, err
	}
	said, rights := make([]byte, 1), make([]byte, rightsSpace)
	n, rn, _, _, err := in.conn.ReadMsgUnix(said, rights)
	if err != nil || n == 0 {
		return nil, errors.Join(err, errors.New("it could not connect from inside"))
	}
	fd, err := descriptor(rights[:rn])
	if err != nil {
		return nil, errors.Join(err, errors.New("no connection came from inside"))
	}
	f := os.NewFile(uintptr(fd), "connection")
	c, err := net.FileConn(f)
	return c, errors.Join(err, f.Close())
}

// transparent is the target of requests to addr; with TLS where conf is set, and
// over HTTP/2 where h2 is.
func (in *inside) transparent(addr string, conf *tls.Config, request []byte, h2 *h2Request) target {
	return target{through, func(ctx context.Context) (net.Conn, error) {
		c, err := in.dial(ctx, addr)
		if err != nil || conf == nil {
			return c, err
		}
		t := tls.Client(c, conf)
		return t, t.HandshakeContext(ctx)
	}, request, in.cpu, false, h2}
}

// serveDial connects to each address that a line of stdin names, and sends the
// connection back over it. It ends with stdin.
func serveDial(ctx context.Context, stdin *os.File) error {
	c, err := net.FileConn(stdin)
	if err != nil {
		return fmt.Errorf("taking the standard input for a socket: %w", err)
	}
	defer c.Close()
	out, ok := c.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("the standard input is %T, no unix socket", c)
	}
	for lines := bufio.NewScanner(c); lines.Scan(); {
		if err := sendDialled(ctx, out, lines.Text()); err != nil {
			return err
		}
	}
	return nil
}

func sendDialled(ctx context.Context, out *net.UnixConn, addr string) error {
	up, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer up.Close()
	f, err := up.(*net.TCPConn).File()
	if err != nil {
		return err
	}
	defer f.Close()
	_, _, err = out.WriteMsgUnix([]byte{1}, rights(f), nil)
	return err
}
