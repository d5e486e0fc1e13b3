package start

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/run"
)

func serveCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "serve",
		UsageText: "holdgate serve --mcp issues=http://127.0.0.1:9000/mcp",
		Usage:     "run the sidecar",
		Description: "Prints one line of JSON for each listener when it is ready, and ends on SIGTERM.\n" +
			"What is held when it ends is there again when it starts. SIGHUP has the\n" +
			"configuration read again at once, and does not end it. With --replace it\n" +
			"takes the place of the sidecar that runs on the state folder. No connection\n" +
			"is refused meanwhile. If this one does not start, the other goes on.",
		Flags:  serveFlags(),
		Action: func(c *cli.Context) error { return e.serve(c) },
	}
}

func serveFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "agents", Usage: "listen for agents at `ADDR`"},
		&cli.StringFlag{Name: "approvers", Usage: "listen for approvers at `ADDR`"},
		&cli.StringFlag{Name: "policy", Usage: "rules of your own: a `FILE, FOLDER or BUNDLE`"},
		&cli.StringSliceFlag{Name: "upstream", Usage: "a model provider, as `NAME=URL`; may be repeated"},
		&cli.StringSliceFlag{Name: "mcp", Usage: "an MCP server, as `NAME=URL`; may be repeated"},
		&cli.StringFlag{Name: "auto", Usage: "answer every request by itself, for tests: `approve, deny or first-option`"},
		&cli.BoolFlag{Name: "replace", Usage: "take the place of the sidecar that runs on the state folder, if any"},
		&cli.StringFlag{Name: "log", Usage: "log at `LEVEL`: debug, info, warn or error", Value: "warn"},
		&cli.StringFlag{Name: "log-format", Usage: "log as `FORMAT`: text or json", Value: "text"},
	}
}

// serveSettings loads the configuration with what the command line of serve
// says.
func (e *env) serveSettings(c *cli.Context) (config.Config, error) {
	f := command.Globals(c)
	f.Agents, f.Approvers, f.Policy = c.String("agents"), c.String("approvers"), c.String("policy")
	f.Upstreams, f.MCP = c.StringSlice("upstream"), c.StringSlice("mcp")
	s, err := config.Load(f, e.Getenv)
	if err != nil {
		return config.Config{}, command.ConfigFault(err)
	}
	return s, nil
}

func (e *env) serve(c *cli.Context) error {
	if c.Args().Present() {
		return command.Usage("serve takes no arguments, got %q", c.Args().First())
	}
	s, err := e.serveSettings(c)
	if err != nil {
		return err
	}
	o := app.Options{Version: command.Version(), Getenv: e.Getenv, Level: command.Level(c.String("log"))}
	switch c.String("log-format") {
	case "text":
		o.Logger = e.TextLogger(o.Level)
	case "json":
		o.Logger = e.JSONLogger(o.Level)
	default:
		return command.Usage("--log-format %q: want text or json", c.String("log-format"))
	}
	if o.PluginArgs, err = run.PluginArgs(); err != nil {
		return err
	}
	if o.Auto, err = autoAnswer(c.String("auto")); err != nil {
		return err
	}
	if o.Proxies, err = e.host().Proxies(s); err != nil {
		return err
	}
	o.Home = e.Getenv("HOME")
	hangups, done := hangUps()
	defer done()
	o.Watched = app.Watched{
		Path: e.watchedFile(s, command.Globals(c)), First: s, Now: hangups,
		Read: func() (config.Config, error) { return e.serveSettings(c) },
	}
	o.Succession = app.Succession{Offered: true, Replace: c.Bool("replace"), Late: e.late}
	e.host().Prepare()
	return e.runApp(c.Context, s, o)
}

// watchedFile is the configuration's file, or where one would be looked for:
// empty where the command line says that there is none, or no place is known.
func (e *env) watchedFile(s config.Config, f config.Flags) string {
	path := s.File
	if path == "" && !f.NoFile {
		path = config.Place(e.Getenv)
	}
	return command.Absolute(path)
}

// hangUps are the SIGHUPs that this process gets from now on until done is called.
func hangUps() (got <-chan os.Signal, done func()) {
	c := make(chan os.Signal, 1) // one that is waiting stands for those that follow
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// runApp runs a sidecar until ctx ends.
func (e *env) runApp(ctx context.Context, s config.Config, o app.Options) error {
	return app.Run(ctx, s, o, func(a *app.App) {
		for _, l := range a.Listeners() {
			if err := json.NewEncoder(e.Stdout).Encode(l); err != nil {
				return // nobody reads; that ends nothing
			}
		}
	})
}

// late ends this process, which has another's place and is not ready in time: that one
// goes on.
func (e *env) late() {
	fmt.Fprintf(e.Stderr, "holdgate: not ready within %s, so that the sidecar goes on whose place this one was to take\n", app.ReadyWithin)
	os.Exit(1)
}

// autoAnswer reads --auto.
func autoAnswer(s string) (holdgate.Answer, error) {
	switch s {
	case "":
		return "", nil
	case "approve":
		return holdgate.AnswerApprove, nil
	case "deny":
		return holdgate.AnswerDeny, nil
	case "first-option":
		return holdgate.AnswerChoose, nil
	}
	return "", command.Usage("--auto %q: want approve, deny or first-option", s)
}
