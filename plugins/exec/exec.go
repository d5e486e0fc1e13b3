// Package exec is the channel that is any command: it is started for each
// request, reads the request as JSON and prints answers as JSON.
//
// # What the command reads
//
// One line on standard input, {"type": "requested", "request": {...}}, with the
// request as package document has it. Standard input stays open: later lines
// say what has become of the request ({"type": "updated", ...}) and of the
// command's own answers ({"type": "answered", "status": "approved"}, or "error"
// with why an answer does not count). A command that does not care reads one
// line. Where ended is configured, a command that has ended is started once more
// at the end of its request, reads {"type": "ended", "request": {...}}, and its
// input ends; that may come twice.
//
// # What it prints
//
// Any number of answers, one on a line: {"decision": "deny", "reason": "..."},
// with by where another than the configured user answers. What binds an answer
// to the request is not the command's to say. An edit has its arguments, a JSON
// object; claim, unclaim and seen decide nothing. Blank lines count for nothing.
//
// # When people count as told
//
// Once the command has ended with 0, has printed a line, or has run for two
// seconds. One that ends otherwise before that has told nobody, and is started
// again later. When the request has ended so does the command's input; a
// second later it gets SIGTERM, and after another all that it started SIGKILL.
package exec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/document"
)

// Config is the channel's configuration.
type Config struct {
	// Command is the program and its arguments; the program is an absolute path.
	Command []string `json:"command"`
	// Env is added to the command's environment, which else has a PATH, HOME
	// and how text is shown.
	Env map[string]string `json:"env"`
	// Answers are what the command's answers may be: by default deny and steer.
	// Whoever can write to what the command reads can give them.
	Answers []string `json:"answers"`
	// Ended has the command started once more where a request that people were
	// told of has ended after the command did, so that what it posted elsewhere
	// can be brought up to date.
	Ended bool `json:"ended"`
	// User is who answers where the command does not say; by default the name
	// of the user that Holdgate runs as.
	User string `json:"user"`
}

// maxRunning is how many commands run at a time.
const maxRunning = 32

// A Channel starts one command.
type Channel struct {
	log     *slog.Logger
	conf    Config
	env     []string
	settle  time.Duration // after which people count as told
	grace   time.Duration // before SIGTERM, and before SIGKILL
	answers chan answer

	mu      sync.Mutex
	running map[string]*run // by the request's id
	failed  error           // how the last command ended, if badly
}

var _ sdk.Channel = (*Channel)(nil)

// New returns a channel that has to be configured.
func New(log *slog.Logger) *Channel {
	return &Channel{log: log, settle: 2 * time.Second, grace: time.Second, answers: make(chan answer), running: make(map[string]*run)}
}

// Info implements [sdk.Channel]. What the command asks for is given over a pipe
// that nobody else has; which answers it may give is the configuration's word.
func (c *Channel) Info() sdk.Info {
	return sdk.Info{Name: "exec", Assurance: sdk.Interactive, Forgets: true, Edits: true, Claims: true, Sees: true}
}

// Configure implements [sdk.Channel].
func (c *Channel) Configure(_ context.Context, config []byte) error {
	conf := Config{Answers: []string{sdk.Deny, sdk.Steer}}
	if err := sdk.Decode(config, &conf); err != nil {
		return err
	}
	if len(conf.Command) == 0 {
		return errors.New("command is not set: what is to be started?")
	}
	if !strings.HasPrefix(conf.Command[0], "/") {
		return fmt.Errorf("command: %q is not an absolute path", conf.Command[0])
	}
	if _, err := exec.LookPath(conf.Command[0]); err != nil {
		return fmt.Errorf("command: %w", err)
	}
	for _, a := range conf.Answers {
		if !slices.Contains([]string{sdk.Approve, sdk.Deny, sdk.Steer, sdk.Choose, sdk.Edit, sdk.Claim, sdk.Unclaim, sdk.Seen}, a) {
			return fmt.Errorf("answers: %q is none of approve, deny, steer, choose, edit, claim, unclaim, seen", a)
		}
	}
	env, err := environ(conf.Env)
	if err != nil {
		return err
	}
	u, uerr := user.Current()
	if conf.User == "" {
		if uerr != nil {
			return errors.New("user is not set, and the user's name is not known")
		}
		conf.User = u.Username
	}
	c.conf, c.env = conf, env
	return nil
}

// environ is the environment of a command.
func environ(more map[string]string) ([]string, error) {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	if home, err := os.UserHomeDir(); err == nil {
		env = append(env, "HOME="+home)
	} else if u, err := user.Current(); err == nil {
		env = append(env, "HOME="+u.HomeDir)
	}
	for _, name := range []string{"LANG", "LC_ALL", "LC_CTYPE", "NO_COLOR", "TMPDIR", "TZ"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for name, v := range more {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(v, "\x00") {
			return nil, fmt.Errorf("env: %q cannot be set", name)
		}
		env = append(env, name+"="+v)
	}
	return env, nil
}

// Notify implements [sdk.Channel].
func (c *Channel) Notify(ctx context.Context, n sdk.Notice) error {
	if len(c.conf.Command) == 0 {
		return errors.New("not configured")
	}
	n.Answers = slices.DeleteFunc(slices.Clone(n.Answers), func(a string) bool { return !slices.Contains(c.conf.Answers, a) })
	c.stop(n.ID)
	r, err := c.start(n)
	if err != nil {
		return err
	}
	r.tell(event{Type: "requested", Request: new(document.Of(n))})
	return c.settled(ctx, r)
}

// settled returns once people count as told by the command, or why they do not.
func (c *Channel) settled(ctx context.Context, r *run) error {
	select {
	case <-r.told:
	case <-r.done:
	case <-time.After(c.settle):
	case <-ctx.Done():
	}
	select {
	case <-r.done:
		return r.err
	default:
		return nil
	}
}

// tellEnd starts the command for the end of a request alone. It may answer
// nothing: a request that has ended takes no answers.
func (c *Channel) tellEnd(ctx context.Context, n sdk.Notice) error {
	r, err := c.start(n)
	if err != nil {
		return err
	}
	r.tell(event{Type: "ended", Request: new(document.Of(n))})
	r.closeIn()
	return c.settled(ctx, r)
}

// start starts the command for a request.
func (c *Channel) start(n sdk.Notice) (*run, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.running) >= maxRunning {
		return nil, fmt.Errorf("%d commands run already", maxRunning)
	}
	r, err := c.begin(n)
	if err != nil {
		c.failed = err
		return nil, err
	}
	c.running[n.ID] = r
	go func() {
		r.wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.failed = r.err
		if c.running[n.ID] == r {
			delete(c.running, n.ID)
		}
		close(r.done)
	}()
	return r, nil
}

// stop ends the command of a request, if one runs, and waits for its end.
func (c *Channel) stop(id string) {
	c.mu.Lock()
	r := c.running[id]
	c.mu.Unlock()
	if r != nil {
		r.terminate(c.grace)
	}
}

// Update implements [sdk.Channel].
func (c *Channel) Update(ctx context.Context, n sdk.Notice) error {
	c.mu.Lock()
	r := c.running[n.ID]
	c.mu.Unlock()
	switch {
	case r == nil && n.Ended() && c.conf.Ended:
		return c.tellEnd(ctx, n)
	case r == nil:
		return nil
	}
	r.tell(event{Type: "updated", Request: new(document.Of(n))})
	if n.Ended() {
		r.terminate(c.grace)
	}
	return nil
}

// Answers implements [sdk.Channel]. When it ends, so do the commands.
func (c *Channel) Answers(ctx context.Context, give sdk.Answerer) error {
	defer c.stopAll()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case a := <-c.answers:
			a.from.tell(outcome(give(ctx, a.said)))
		}
	}
}

// outcome says to a command what became of its answer.
func outcome(status string, err error) event {
	e := event{Type: "answered", Status: status}
	if refused, ok := errors.AsType[*sdk.Refused](err); ok {
		e.Error = refused.Reason
	} else if err != nil {
		e.Error = "Holdgate cannot take decisions now"
	}
	return e
}

func (c *Channel) stopAll() {
	c.mu.Lock()
	var all []*run
	for _, r := range c.running {
		all = append(all, r)
	}
	c.mu.Unlock()
	var ended sync.WaitGroup
	for _, r := range all {
		ended.Go(func() { r.terminate(c.grace) })
	}
	ended.Wait()
}

// Health implements [sdk.Channel].
func (c *Channel) Health(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.conf.Command) == 0 {
		return errors.New("not configured")
	}
	return c.failed
}
