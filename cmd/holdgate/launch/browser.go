package launch

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/holdgate/holdgate/approvals/api"
)

// ErrNoBrowser says that there is no browser here to be started.
var ErrNoBrowser = errors.New("there is no browser to open here")

// Browse opens a link in the person's browser. What stands in a browser's arguments can
// be read by others on the machine: it is handed a file in the state folder that leads
// to the link. It does not wait for the browser.
func Browse(stateDir string, env func(string) string, l api.Link) error {
	opener := browser(env)
	if opener == nil {
		return ErrNoBrowser
	}
	file, err := writeLink(stateDir, l)
	if err != nil {
		return err
	}
	cmd := exec.Command(opener[0], append(opener[1:], file)...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the browser: %w", err)
	}
	go func() { _ = cmd.Wait() }() // ends with the browser, or with this process
	return nil
}

// PageOf is where the page shows a request.
func PageOf(id string) string { return "/requests/" + url.PathEscape(id) }

// A Linker makes one-time links to the page: a [client.Client] is one.
type Linker interface {
	Link(ctx context.Context, to api.LinkTo) (api.Link, error)
}

// ShowPage opens the page of a request in the person's browser, and returns what became
// of it in a line: the link itself, where no browser can be started here.
func ShowPage(ctx context.Context, door Linker, stateDir string, env func(string) string, id string) string {
	l, err := door.Link(ctx, api.LinkTo{Path: PageOf(id)})
	if err != nil {
		return "no page: " + err.Error()
	}
	if err := Browse(stateDir, env, l); err != nil {
		return l.URL
	}
	return "The page opens in your browser. Answer there or here."
}

// writeLink writes a file that leads to the link, and that its owner alone can read.
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

// browser is the command that opens a file in a browser, nil where there is none.
func browser(env func(string) string) []string {
	if b := env("BROWSER"); b != "" {
		return []string{b}
	}
	switch runtime.GOOS {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	if env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "" {
		return nil
	}
	if path, err := exec.LookPath("xdg-open"); err == nil {
		return []string{path}
	}
	return nil
}
