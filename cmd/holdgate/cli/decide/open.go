package decide

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"
	"rsc.io/qr"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/cmd/holdgate/launch"
)

// openCommand leads a browser to the page.
func openCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "open",
		UsageText: "holdgate open",
		Usage:     "open the page in a browser, signed in as you",
		ArgsUsage: "[ID]",
		Description: "The link works once, within a minute. With an ID, or its beginning, the page shows that request.\n" +
			"--print writes the link and opens nothing: use it over ssh, with -L 7301:127.0.0.1:7301.\n" +
			"--qr shows it as a QR code for the camera of a phone, which needs listen.approvers_tls.",
		Flags: []cli.Flag{
			command.JSONFlag(),
			&cli.BoolFlag{Name: "print", Usage: "print the link alone, and open nothing"},
			&cli.BoolFlag{Name: "qr", Usage: "show the link as a QR code, for a phone"},
		},
		Action: func(c *cli.Context) error { return e.openPage(c) },
	}
}

func (e *env) openPage(c *cli.Context) error {
	if c.NArg() > 1 {
		return command.Usage("open takes one ID, got %q too", c.Args().Get(1))
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	var to api.LinkTo
	if id := c.Args().First(); id != "" {
		r, err := byPrefix(c.Context, sc, id)
		if err != nil {
			return err
		}
		to.Path = launch.PageOf(r.ID)
	}
	l, err := sc.Link(c.Context, to)
	if err != nil {
		return err
	}
	switch {
	case c.Bool("json"):
		return command.PrintJSON(e.Stdout, l)
	case c.Bool("print"):
		_, err := fmt.Fprintln(e.Stdout, l.URL)
		return err
	case c.Bool("qr"):
		return e.showCode(l)
	}
	dir, err := config.StateDir(command.Globals(c), e.Getenv)
	if err != nil {
		return err
	}
	switch err := launch.Browse(dir, e.Getenv, l); {
	case errors.Is(err, launch.ErrNoBrowser):
		return e.printLink(e.Stdout, l, "There is no browser to open here.")
	case err != nil:
		return e.printLink(e.Stdout, l, "The browser did not open: "+holdgate.Visible(err.Error())+".")
	}
	_, err = fmt.Fprintln(e.Stdout, "The page opens in your browser. If it does not: holdgate open --print")
	return err
}

func (e *env) printLink(w io.Writer, l api.Link, why string) error {
	_, err := fmt.Fprintf(w, "%s Open this link within a minute; it works once:\n\n  %s\n", why, l.URL)
	return err
}

// showCode prints a link as a QR code.
func (e *env) showCode(l api.Link) error {
	if u, err := url.Parse(l.URL); err != nil || u.Scheme != "https" || strings.HasSuffix(u.Hostname(), ".localhost") {
		return &command.Exit{
			Code: command.ExitFailed, Text: "a phone cannot reach the page: it is on this machine alone",
			Hint: `set listen.approvers: "0.0.0.0:7301" and listen.approvers_tls (docs/page.md), then restart the sidecar`,
		}
	}
	code, err := qr.Encode(l.URL, qr.M)
	if err != nil {
		return fmt.Errorf("making the QR code: %w", err)
	}
	_, err = fmt.Fprintf(e.Stdout, "%s\nIt works once, within a minute.\n", halfBlocks(code))
	return err
}

// halfBlocks draws a QR code with its margin, two rows of it a line: dark on light,
// whatever the terminal's colours are.
func halfBlocks(code *qr.Code) string {
	const margin = 4
	var b strings.Builder
	for y := -margin; y < code.Size+margin; y += 2 {
		b.WriteString("\x1b[30;107m")
		for x := -margin; x < code.Size+margin; x++ {
			b.WriteString(map[[2]bool]string{{false, false}: " ", {true, false}: "▀", {false, true}: "▄", {true, true}: "█"}[[2]bool{code.Black(x, y), code.Black(x, y+1)}])
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String()
}
