package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// deadlines bound what is asked of a channel, and pace what is tried again.
type deadlines struct {
	start     time.Duration // to start and to connect
	configure time.Duration // Info and Configure together
	notify    time.Duration // Notify and Update, each
	health    time.Duration
	end       time.Duration // to end when asked to
	watch     time.Duration // between two looks at a running channel
	reconcile time.Duration // before the first
	down      time.Duration // for how long it reaches nobody before the other channels say so

	minPause, maxPause time.Duration // between one try and the next
}

func usualDeadlines() deadlines {
	return deadlines{
		start: 15 * time.Second, configure: 10 * time.Second, notify: 30 * time.Second, health: 5 * time.Second, end: 3 * time.Second,
		watch: 30 * time.Second, reconcile: time.Second, down: 2 * time.Minute,
		minPause: 500 * time.Millisecond, maxPause: time.Minute,
	}
}

// pauses returns pauses that grow.
func (d deadlines) pauses() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = d.minPause, d.maxPause
	return b
}

// maxHeaders bounds the headers of a channel's answers, in bytes; an error's
// text is one of them.
const maxHeaders = 64 << 10

// A process is a running channel that has taken its configuration. end must be
// called.
type process struct {
	client *goplugin.Client
	child  *child
	dir    string
	remote *sdk.Remote
	info   sdk.Info
	d      deadlines
}

// start starts a channel's process and configures it.
func start(ctx context.Context, c Channel, d deadlines, log *slog.Logger) (_ *process, err error) {
	p := &process{d: d}
	connecting, cancel := context.WithTimeout(ctx, d.start)
	defer cancel()
	var unwatch func() bool
	p.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  sdk.Handshake(),
		VersionedPlugins: sdk.Plugins(nil),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		StartTimeout:     d.start,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: socketFolder(os.TempDir())},
		Logger:           bridge(log),
		GRPCDialOptions:  dialOptions(),
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) {
			p.dir = dir
			path, err := program(c, dir)
			if err != nil {
				return nil, err
			}
			own := exec.Command(path, c.Command[1:]...)
			own.Env = append(cmd.Env, passedOn()...)
			p.child = newChild(own, dir, func(r io.Reader) { logOutput(log, r) })
			// go-plugin's own calls have no deadline: ending the process is.
			unwatch = context.AfterFunc(connecting, func() { _ = p.child.Kill(connecting) })
			return p.child, nil
		},
	})
	defer func() {
		if err != nil {
			p.terminate()
		}
	}()
	conn, err := p.client.Client()
	if unwatch != nil && !unwatch() {
		err = errors.Join(context.Cause(connecting), err)
	}
	if err != nil {
		return nil, fmt.Errorf("starting it: %w", shown(err))
	}
	if p.remote, err = sdk.Dispense(conn); err != nil {
		return nil, err
	}
	ctx, cancel = context.WithTimeout(ctx, d.configure)
	defer cancel()
	if p.info, err = p.remote.Info(ctx); err != nil {
		return nil, fmt.Errorf("asking what it is: %w", shown(err))
	}
	if err = p.remote.Configure(ctx, c.Config); err != nil {
		return nil, fmt.Errorf("configuring it: %w", shown(err))
	}
	return p, nil
}

// socketFolder is where the private folder of a channel's socket is made: in the
// folder for temporary files, unless the socket's path were too long there.
func socketFolder(temp string) string {
	const most = 103 - len("/plugin-dir0123456789/plugin0123456789") // of what macOS takes, the least
	if len(temp) > most {
		return "/tmp"
	}
	return temp
}

// terminate ends the process, gracefully if it can, and returns when it is gone.
func (p *process) terminate() {
	if p.child != nil {
		watch := time.AfterFunc(p.d.end, func() { _ = p.child.Kill(context.Background()) })
		defer watch.Stop()
	}
	p.client.Kill()
	if p.child != nil && p.child.started() {
		_ = p.child.Kill(context.Background())
		<-p.child.done
		p.child.closePipes()
	}
	if p.dir != "" {
		_ = os.RemoveAll(p.dir) // go-plugin leaves it where the process did not start
	}
}

// cause returns why a process broke down: err, or where it has ended, how.
func (p *process) cause(err error) error {
	select {
	case <-p.child.done:
		return p.child.gone()
	case <-time.After(drain): // the end of its connection is noticed before its own
		return err
	}
}

// dialOptions bound what a channel can send, and open nothing to it but its own
// service and go-plugin's control of the process: the broker's stream would let
// it fill memory.
func dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(sdk.MaxMessage), grpc.MaxCallSendMsgSize(sdk.MaxMessage)),
		grpc.WithMaxHeaderListSize(maxHeaders),
		grpc.WithStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, conn *grpc.ClientConn, method string, next grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
			if strings.HasPrefix(method, "/plugin.GRPCBroker/") {
				return nil, status.Error(codes.Unavailable, "not used here")
			}
			return next(ctx, d, conn, method, o...)
		}),
	}
}

// passedOn is all that a channel gets to see of Holdgate's environment: how
// text is to be shown, and where temporary files go.
func passedOn() []string {
	var env []string
	for _, name := range []string{"LANG", "LC_ALL", "LC_CTYPE", "NO_COLOR", "TERM", "TMPDIR", "TZ"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
