package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// A splitter is a terminal that can be told to show a second program beside the
// first.
type splitter struct {
	name string
	sign string   // the variable that a program in it has
	open []string // the command that opens the second, whose words stand behind
	shut []string // and the one that ends it, whose id as open printed it stands at the end of the last word; none: it is left to the person
}

// splitters are asked in this order: a multiplexer runs within a terminal.
var splitters = []splitter{
	{"tmux", "TMUX", []string{"tmux", "split-window", "-d", "-v", "-l", "14", "-P", "-F", "#{pane_id}"}, []string{"tmux", "kill-pane", "-t", ""}},
	{"zellij", "ZELLIJ", []string{"zellij", "run", "--direction", "down", "--close-on-exit", "--name", "holdgate", "--"}, nil},
	{"kitty", "KITTY_WINDOW_ID", []string{"kitten", "@", "launch", "--type=window", "--location=hsplit", "--keep-focus", "--title=holdgate"}, []string{"kitten", "@", "close-window", "--match", "id:"}},
	{"wezterm", "WEZTERM_PANE", []string{"wezterm", "cli", "split-pane", "--bottom", "--"}, []string{"wezterm", "cli", "kill-pane", "--pane-id", ""}},
}

// CanSplit says why questions cannot be asked in a split of the terminal, or nil.
func CanSplit(getenv func(string) string) error {
	if _, ok := splitterOf(getenv); ok {
		return nil
	}
	return &RefusedError{
		Text: "--ask split opens a split of tmux, kitty, wezterm or zellij, and this terminal is none of them",
		Hint: "leave it out to be asked in this terminal, or run holdgate watch in another",
	}
}

func splitterOf(getenv func(string) string) (splitter, bool) {
	i := slices.IndexFunc(splitters, func(s splitter) bool { return getenv(s.sign) != "" })
	if i < 0 {
		return splitter{}, false
	}
	return splitters[i], true
}

// split opens a split of the terminal with holdgate watch in it, and returns what
// closes it.
func (r *agent) split(ctx context.Context) (shut func(), err error) {
	s, ok := splitterOf(r.Host.Getenv)
	if !ok {
		return nil, CanSplit(r.Host.Getenv)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	dir, err := filepath.Abs(r.Config.StateDir)
	if err != nil {
		return nil, err
	}
	words := append(slices.Clone(s.open), self, "watch", "--state-dir", dir)
	printed, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput()
	said := strings.TrimSpace(string(printed))
	if err != nil {
		return nil, &RefusedError{
			Text: holdgate.Visible(fmt.Sprintf("%s opens no split: %s", s.name, strings.TrimSpace(said+" ("+err.Error()+")"))),
			Hint: "leave --ask split out to be asked in this terminal",
		}
	}
	if len(s.shut) == 0 {
		return func() {
			r.note("holdgate watch is left in its split of %s: q leaves it", s.name)
		}, nil
	}
	words = slices.Clone(s.shut)
	words[len(words)-1] += said
	return func() { // a person who has closed it already left nothing to close
		_ = exec.CommandContext(context.WithoutCancel(ctx), words[0], words[1:]...).Run()
	}, nil
}
