// Package demo shows the whole of Holdgate in half a minute, with no key and
// no network: a model provider that plays a recorded exchange, a small agent
// that runs the shell commands which the model asks for, and a real sidecar
// between them. The agent asks to delete a folder, which the shipped policy
// holds; what the person decides is what happens.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// Options say how the demo runs.
type Options struct {
	// Decide answers in a person's place: approve, deny or steer. Empty: the
	// terminal asks.
	Decide holdgate.Answer
	TTY    string // the terminal that asks, where Decide is empty
	Out    io.Writer
	Width  int // of Out, in columns; 0 is any
	App    app.Options
	// Program is holdgate itself, where it can run commands so that they can be taken
	// back; empty: it cannot here.
	Program string
}

const (
	task        = "Clean up the project folder."
	followUp    = "Please go on."
	denyReason  = "the raw data is still needed"
	instruction = "move data/ to archive/ instead of deleting it"
	pace        = 25 * time.Millisecond
)

// Run runs the demo. It returns an error where something other than the
// decision made the difference.
func Run(ctx context.Context, o Options) error {
	if o.Width > 0 {
		o.Out = &story{w: o.Out, width: o.Width}
	}
	dir, err := os.MkdirTemp("", "holdgate-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	project, err := newProject(dir)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	model := &http.Server{Handler: provider{pause: pace}, ReadHeaderTimeout: time.Minute}
	var g errgroup.Group
	g.Go(func() error { return model.Serve(ln) })
	defer func() { _ = model.Close(); _ = g.Wait() }()

	s := settings(filepath.Join(dir, "state"), ln.Addr().String(), o)
	a, err := app.New(ctx, s, o.App)
	if err != nil {
		return err
	}
	defer func() { _ = a.Stop(context.WithoutCancel(ctx)) }()
	if err := a.Start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "A model provider, an agent and Holdgate, all on this machine. The agent works in a folder with\n%s\n\n", project)
	if o.Decide == "" {
		if err := invite(ctx, s, o.Out); err != nil {
			return err
		}
	}
	var decided approvals.Request
	play, cancel := context.WithCancel(ctx)
	defer cancel()
	g2, play := errgroup.WithContext(play)
	g2.Go(func() error {
		defer cancel()
		return agent{baseURL: "http://" + a.Listeners()[0].Addr + "/up/anthropic", dir: project.dir, shell: o.shell(s), out: o.Out}.run(play, task, followUp)
	})
	g2.Go(func() (err error) {
		decided, err = decide(play, s, o)
		return err
	})
	if err := g2.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := report(ctx, s, o.Out, project, decided); err != nil || o.Program == "" {
		return err
	}
	return takeBack(ctx, s, o, project, decided)
}

// invite waits until the terminal can ask, and says where the page is.
func invite(ctx context.Context, s config.Config, out io.Writer) error {
	c, err := client.New(client.Options{StateDir: s.StateDir})
	if err != nil {
		return err
	}
	defer c.Close()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		channels, err := c.Plugins(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(channels, func(p api.Plugin) bool { return p.State == "starting" }) {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	link, err := c.Link(ctx, api.LinkTo{})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "You are asked here. You can answer in a browser instead; this link signs you in, once:\n  %s\n\n", link.URL)
	return nil
}

// own is a command of the program, about the demo's sidecar.
func (o Options) own(s config.Config, args ...string) []string {
	return append([]string{o.Program, "--state-dir", s.StateDir, "--config", ""}, args...)
}

// shell is what the agent runs commands with.
func (o Options) shell(s config.Config) []string {
	if o.Program == "" {
		return []string{"sh", "-c"}
	}
	return o.own(s, "run", "--undo", "--", "sh", "-c")
}

// takeBack undoes what was approved.
func takeBack(ctx context.Context, s config.Config, o Options, p project, r approvals.Request) error {
	if r.Status != holdgate.StatusApproved {
		return nil
	}
	undo := o.own(s, "undo", "--yes")
	cmd := exec.CommandContext(ctx, undo[0], undo[1:]...)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("taking it back: %w: %s", err, out)
	}
	if where, err := p.where(); err != nil || where != "data" {
		return errors.Join(err, fmt.Errorf("the file is in %q: the undo has failed", where))
	}
	fmt.Fprintf(o.Out, "\nThe command ran under holdgate run --undo, so it can be taken back:\nyou    $ holdgate undo\nThe file %s is there again.\n", filepath.Join("data", p.file))
	return nil
}

// settings is a configuration of its own: nothing of the user's is touched.
func settings(stateDir, model string, o Options) config.Config {
	s := config.Default(stateDir, "you")
	s.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0"}
	s.Upstreams = map[string]config.Upstream{"anthropic": {URL: "http://" + model}}
	if o.Decide == "" {
		s.Plugins = map[string]config.Plugin{"terminal": {Config: config.Settings{"tty": o.TTY, "user": "you"}}}
	}
	return s
}

// decide waits for the request and answers it, or waits for the terminal to.
// Whatever is asked afterwards is approved: it is what the person steered to.
func decide(ctx context.Context, s config.Config, o Options) (approvals.Request, error) {
	c, err := client.New(client.Options{StateDir: s.StateDir, Channel: "cli"})
	if err != nil {
		return approvals.Request{}, err
	}
	defer c.Close()
	if o.Decide == "" {
		return await(ctx, c, func(r approvals.Request) bool { return r.Status.Final() })
	}
	first, err := answer(ctx, c, o.Out, o.Decide)
	if err != nil || o.Decide != holdgate.AnswerSteer {
		return first, err
	}
	_, err = answer(ctx, c, o.Out, holdgate.AnswerApprove)
	return first, err
}

// answer waits for the next request and answers it as a person would, by the
// API that the commands use.
func answer(ctx context.Context, c *client.Client, out io.Writer, a holdgate.Answer) (approvals.Request, error) {
	r, err := await(ctx, c, func(r approvals.Request) bool { return !r.Status.Final() })
	if err != nil {
		return r, err
	}
	fmt.Fprintf(out, "\nholdgate > held: %s\n           why: %s (%s)\n", r.Briefing.Summary, r.Reason, r.Rule)
	d := api.Decision{Decision: a, Digest: r.Call.Digest}
	switch a {
	case holdgate.AnswerDeny:
		d.Reason = denyReason
		fmt.Fprintf(out, "you    $ holdgate deny %s --reason %q\n", r.ID, denyReason)
	case holdgate.AnswerSteer:
		d.Instructions = instruction
		fmt.Fprintf(out, "you    $ holdgate steer %s %q\n", r.ID, instruction)
	default:
		fmt.Fprintf(out, "you    $ holdgate approve %s\n", r.ID)
	}
	return c.Decide(ctx, r.ID, d)
}

// await looks until a request is there that fits.
func await(ctx context.Context, c *client.Client, fits func(approvals.Request) bool) (approvals.Request, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := c.List(ctx, approvals.Filter{})
		if err != nil {
			return approvals.Request{}, err
		}
		for _, r := range list {
			if fits(r) {
				return r, nil
			}
		}
		select {
		case <-ctx.Done():
			return approvals.Request{}, ctx.Err()
		case <-tick.C:
		}
	}
}

// report says what the decision did, and where it is written down.
func report(ctx context.Context, s config.Config, out io.Writer, p project, r approvals.Request) error {
	c, err := client.New(client.Options{StateDir: s.StateDir})
	if err != nil {
		return err
	}
	defer c.Close()
	head, err := c.AuditHead(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe audit log holds %d entries, and its head is\n  %s\n", head.Seq, head)
	where, err := p.where()
	if err != nil {
		return err
	}
	switch {
	case r.Status == holdgate.StatusApproved && where == "":
		fmt.Fprintf(out, "Approved by %s: %s\nThe folder is gone.\n", r.Outcome.By, r.Briefing.Summary)
	case r.Status == holdgate.StatusDenied && where == "data":
		fmt.Fprintf(out, "Denied by %s: %s\nThe file %s is still there.\n", r.Outcome.By, r.Briefing.Summary, filepath.Join(where, p.file))
	case r.Status == holdgate.StatusSteered && where != "":
		fmt.Fprintf(out, "Steered by %s: %s\nThe file is still there: %s\n", r.Outcome.By, r.Briefing.Summary, filepath.Join(where, p.file))
	default:
		return fmt.Errorf("the request ended as %q and the file is in %q: the demo has failed", r.Status, where)
	}
	return nil
}

// project is the folder that the agent works in.
type project struct{ dir, file string }

func newProject(dir string) (project, error) {
	p := project{dir: filepath.Join(dir, "project"), file: "measurements.csv"}
	if err := os.MkdirAll(filepath.Join(p.dir, "data"), 0o755); err != nil {
		return p, err
	}
	if err := os.WriteFile(filepath.Join(p.dir, "data", p.file), []byte("day,value\n1,3.2\n"), 0o644); err != nil {
		return p, err
	}
	return p, os.WriteFile(filepath.Join(p.dir, "report.md"), []byte("# Report\n"), 0o644)
}

func (p project) String() string { return "  data/" + p.file + "\n  report.md" }

// where says in which folder the file is now; "" if it is gone.
func (p project) where() (string, error) {
	for _, d := range []string{"data", filepath.Join("archive", "data"), "archive"} {
		_, err := os.Stat(filepath.Join(p.dir, d, p.file))
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	return "", nil
}
