package decide

import (
	"fmt"
	"html"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// openCommand leads a browser to the page.
func openCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "open",
		UsageText: "holdgate open",
		Usage:     "open the page in a browser, signed in as you",
		ArgsUsage: "[ID]",
		Description: "The link works once, within a minute. With an ID, or its beginning, the page shows that request.\n" +
			"--print writes the link and opens nothing: use it over ssh, with -L 7301:127.0.0.1:7301.",
		Flags: []cli.Flag{
			command.JSONFlag(),
			&cli.BoolFlag{Name: "print", Usage: "print the link alone, and open nothing"},
		},
		Action: func(c *cli.Context) error { return e.open(c) },
	}
}

func (e *env) open(c *cli.Context) error {
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
		to.Path = "/requests/" + url.PathEscape(r.ID)
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
	}
	opener := e.opener()
	if opener == nil {
		return e.printLink(e.Stdout, l, "There is no browser to open here.")
	}
	s, err := e.Settings(c)
	if err != nil {
		return err
	}
	file, err := writeLink(s.StateDir, l)
	if err != nil {
		return err
	}
	cmd := exec.Command(opener[0], append(opener[1:], file)...)
	if err := cmd.Start(); err != nil {
		return e.printLink(e.Stdout, l, "The browser did not start: "+err.Error()+".")
	}
	go func() { _ = cmd.Wait() }()
	_, err = fmt.Fprintln(e.Stdout, "The page opens in your browser. If it does not: holdgate open --print")
	return err
}

func (e *env) printLink(w io.Writer, l api.Link, why string) error {
	_, err := fmt.Fprintf(w, "%s Open this link within a minute; it works once:\n\n  %s\n", why, l.URL)
	return err
}

// writeLink writes a file that leads to the link: what stands in the arguments of a
// browser can be read by others on the machine, and this file cannot.
func writeLink(dir string, l api.Link) (string, error) {
	path := filepath.Join(dir, "open.html")
	page := `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=` + html.EscapeString(l.URL) +
		`"><title>Holdgate</title><a href="` + html.EscapeString(l.URL) + `">To the page</a>`
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("writing the link: %w", err)
	}
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		return "", fmt.Errorf("writing the link: %w", err)
	}
	return path, nil
}

// opener is the command that opens a file in a browser, nil where there is none.
func (e *env) opener() []string {
	if b := e.Getenv("BROWSER"); b != "" {
		return []string{b}
	}
	switch runtime.GOOS {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	if e.Getenv("DISPLAY") == "" && e.Getenv("WAYLAND_DISPLAY") == "" {
		return nil
	}
	if path, err := exec.LookPath("xdg-open"); err == nil {
		return []string{path}
	}
	return nil
}
