package start

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
	"github.com/holdgate/holdgate/cmd/holdgate/relay"
	"github.com/holdgate/holdgate/cmd/holdgate/run"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
)

func mcpCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "mcp",
		UsageText: "holdgate mcp -- npx @modelcontextprotocol/server-filesystem .",
		Usage:     "wrap a stdio MCP server, so that its tool calls are judged",
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
		return command.Usage("mcp needs a command: holdgate mcp -- CMD ARGS")
	}
	program, err := exec.LookPath(c.Args().First())
	if err != nil {
		return command.Usage("%s cannot be run: %v", c.Args().First(), errors.Unwrap(err))
	}
	name := c.String("name")
	if name == "" {
		name = serverName(c.Args().Slice())
	}
	if !goodServerName.MatchString(name) {
		return command.Usage("%q is no name for a server: it is of a-z, 0-9, '-', '_' and '.', at most 63 characters, and begins with a letter or digit; choose one with --name", name)
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
			return stdio.Dial(ctx, addr, name, digest, process, e.traceHeader())
		},
		Tell: func(text string) { fmt.Fprintln(files.err, "holdgate mcp: "+holdgate.Visible(text)) },
	})
	if err == nil && code != 0 {
		err = &command.Exit{Code: code}
	}
	return err
}

// sidecarFor finds a sidecar or starts one. address finds its door for agents,
// again each time, for it may have started anew elsewhere. Call stop in the
// end.
func (e *env) sidecarFor(ctx context.Context, c *cli.Context) (address func(context.Context) (string, error), stop func() error, err error) {
	nothing := func() error { return nil }
	if addr := cmp.Or(e.Getenv(launch.EnvAgents), e.agentsProxy(ctx)); addr != "" {
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
		return run.AgentsDoor(st)
	}
	stop, err = e.host().FindOrStart(ctx, s, c.Bool("trust-writable-policy"))
	return address, stop, err
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
