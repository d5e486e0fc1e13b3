package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
	"github.com/holdgate/holdgate/cmd/holdgate/relay"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/store/badger"
)

func mcpCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "mcp",
		Usage:     "stand before a stdio MCP server",
		ArgsUsage: "-- CMD ARGS | --self",
		Description: "An MCP client starts this in the place of CMD. What passes between the two is\n" +
			"decided by the sidecar of the state folder; where none runs, one runs here for\n" +
			"as long as CMD does. Within holdgate run it is the sidecar of that. The exit\n" +
			"code is CMD's. With --self the client gets Holdgate's own server: tools by which\n" +
			"an agent asks people, reports how sure it is, and sees where it stands.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "the server's `NAME` for policy and people; otherwise that of its program or package"},
			&cli.BoolFlag{Name: "self", Usage: "serve Holdgate's own tools for agents, in the place of a CMD"},
			&cli.StringFlag{Name: "session", Usage: "with --self, the session's `NAME` (environment: " + envSession + ")"},
			&cli.StringFlag{Name: "policy", Usage: "rules of your own, where a sidecar is started: a `FILE, FOLDER or BUNDLE`"},
			&cli.BoolFlag{Name: "trust-writable-policy", Usage: "take rules, configuration and plugins that lie in the working folder"},
		},
		Action: func(c *cli.Context) error { return e.runMCP(c) },
	}
}

// runMCP checks the command line, finds or starts a sidecar, and runs the
// server behind it.
func (e *env) runMCP(c *cli.Context) (err error) {
	if c.Bool("self") {
		return e.runSelf(c)
	}
	if !c.Args().Present() {
		return usage("mcp needs a command: holdgate mcp -- CMD ARGS")
	}
	program, err := exec.LookPath(c.Args().First())
	if err != nil {
		return usage("%s cannot be run: %v", c.Args().First(), errors.Unwrap(err))
	}
	name := c.String("name")
	if name == "" {
		name = serverName(c.Args().Slice())
	}
	if !goodServerName.MatchString(name) {
		return usage("%q is no name for a server: it is of a-z, 0-9, '-', '_' and '.', at most 63 characters, and begins with a letter or digit; choose one with --name", name)
	}
	files, err := e.files()
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.Context) // signals are the server's; its end is ours
	address, stop, err := e.sidecarFor(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	digest, process := commandDigest(c.Args().Slice()), rand.Text()
	code, err := relay.Run(ctx, relay.Options{
		Program: program, Args: c.Args().Tail(), Env: os.Environ(), Stdin: files.in, Stdout: files.out, Stderr: files.err,
		Connect: func(ctx context.Context) (*stdio.Conn, error) {
			addr, err := address(ctx)
			if err != nil {
				return nil, err
			}
			return stdio.Dial(ctx, addr, name, digest, process)
		},
		Tell: func(text string) { fmt.Fprintln(files.err, "holdgate mcp: "+holdgate.Visible(text)) },
	})
	if err == nil && code != 0 {
		err = &exitError{code: code}
	}
	return err
}

// sidecarFor finds a sidecar or starts one. address finds its door for agents,
// again each time, for it may have started anew elsewhere. Call stop in the
// end.
func (e *env) sidecarFor(ctx context.Context, c *cli.Context) (address func(context.Context) (string, error), stop func() error, err error) {
	nothing := func() error { return nil }
	if addr := cmp.Or(e.getenv(launch.EnvAgents), e.agentsProxy(ctx)); addr != "" {
		return func(context.Context) (string, error) { return addr, nil }, nothing, nil
	}
	s, err := e.serveSettings(c)
	if err != nil {
		return nil, nil, err
	}
	address = func(ctx context.Context) (string, error) {
		door, err := client.New(client.Options{StateDir: s.StateDir, Channel: "cli"})
		if err != nil {
			return "", err
		}
		defer door.Close()
		st, err := door.Status(ctx)
		if err != nil {
			return "", err
		}
		return agentsDoor(st)
	}
	stop, err = e.findOrStart(ctx, c, s)
	return address, stop, err
}

// startTogether is how long a sidecar is waited for that another `holdgate mcp`
// is starting: clients start their servers all at once.
const startTogether = 10 * time.Second

// findOrStart makes sure that a sidecar serves the state folder.
func (e *env) findOrStart(ctx context.Context, c *cli.Context, s config.Config) (stop func() error, err error) {
	o, err := e.optionsHere(c, holdgate.Agent{})
	if err != nil {
		return nil, err
	}
	if o.Proxies, err = e.proxies(s); err != nil {
		return nil, err
	}
	began := time.Now()
	for {
		running, err := serving(ctx, s.StateDir)
		if err != nil {
			return nil, err
		}
		if running {
			return func() error { return nil }, nil
		}
		log, closeLog, err := mcpLog(s.StateDir)
		if err != nil {
			return nil, err
		}
		o.Logger = log
		_, end, err := e.startHere(ctx, s, o)
		if err == nil {
			return func() error { return errors.Join(end(), closeLog()) }, nil
		}
		if err = errors.Join(err, closeLog()); time.Since(began) > startTogether || !errors.Is(err, badger.ErrInUse) {
			return nil, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// mcpLog is where a sidecar logs that runs in `holdgate mcp`: standard error is
// the server's.
func mcpLog(stateDir string) (*slog.Logger, func() error, error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("making the state folder: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(stateDir, "mcp.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the log: %w", err)
	}
	return slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelWarn})), file.Close, nil
}

// commandDigest tells servers of one name apart.
func commandDigest(args []string) string {
	sum := sha256.Sum256([]byte(strings.Join(args, "\x00")))
	return hex.EncodeToString(sum[:8])
}

var goodServerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)

// launchers are programs that run another, which their arguments name.
var launchers = []string{"npx", "bunx", "pnpx", "uvx", "pipx", "node", "bun", "deno", "python", "python3", "uv"}

// serverName is what a server is called whose command line this is: its
// program, or the package or script that a launcher runs, without what is no
// part of a name. It may be no good name.
func serverName(args []string) string {
	name := base(args[0])
	if slices.Contains(launchers, name) {
		for _, arg := range args[1:] {
			if !strings.HasPrefix(arg, "-") && arg != "run" && arg != "exec" && arg != "x" {
				name = base(arg)
				break
			}
		}
	}
	return strings.ToLower(name)
}

// base is the last part of a path or of a package's name, without its version
// and the ending of a program's file.
func base(s string) string {
	s = filepath.Base(s)
	if i := strings.LastIndex(s, "@"); i > 0 {
		s = s[:i]
	}
	switch ext := filepath.Ext(s); ext {
	case ".js", ".mjs", ".cjs", ".ts", ".py", ".exe":
		s = strings.TrimSuffix(s, ext)
	}
	return s
}
