package decide

import (
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/holdgate/holdgate/approvals/tui"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
)

// watchCommand shows the inbox in the terminal.
func watchCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "watch",
		UsageText: "holdgate watch",
		Usage:     "see what waits and decide it, in the terminal",
		Description: "Keys are those of the page: j and k move, Enter opens, y or a approves, n or d\n" +
			"denies, s steers, ? lists them all. On a terminal without escape sequences\n" +
			"(TERM=dumb) each request is printed and asked about line by line.",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "silent", Usage: "do not ring the terminal's bell when something new waits"}},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return command.Usage("watch takes no arguments, got %q", c.Args().First())
			}
			tty, ok := e.Terminal()
			out, isFile := e.Stdout.(*os.File)
			if !ok || !isFile || !term.IsTerminal(int(out.Fd())) {
				return &command.Exit{Code: command.ExitUsage, Text: "there is no terminal to show the inbox on", Hint: "holdgate pending lists what waits"}
			}
			sc, err := e.Sidecar(c)
			if err != nil {
				return err
			}
			defer sc.Close()
			_, colour := e.Screen(out)
			return tui.Run(c.Context, tui.Options{
				Silent: c.Bool("silent"), Editor: e.Editor(),
				API: sc, Input: tty, Output: out, Colour: colour, Plain: e.Getenv("TERM") == "dumb" || e.Getenv("TERM") == "",
				Flush: func() error { return launch.FlushInput(tty) },
			})
		},
	}
}
