package cli

import (
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/holdgate/holdgate/approvals/tui"
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
				return usage("watch takes no arguments, got %q", c.Args().First())
			}
			tty, ok := e.terminal()
			out, isFile := e.stdout.(*os.File)
			if !ok || !isFile || !term.IsTerminal(int(out.Fd())) {
				return &exitError{code: exitUsage, text: "there is no terminal to show the inbox on", hint: "holdgate pending lists what waits"}
			}
			sc, err := e.sidecar(c)
			if err != nil {
				return err
			}
			defer sc.Close()
			_, colour := e.look(out)
			return tui.Run(c.Context, tui.Options{
				Silent: c.Bool("silent"), Editor: e.editor(),
				API: sc, Input: tty, Output: out, Colour: colour, Plain: e.getenv("TERM") == "dumb" || e.getenv("TERM") == "",
				Flush: func() error { return flushInput(tty) },
			})
		},
	}
}
