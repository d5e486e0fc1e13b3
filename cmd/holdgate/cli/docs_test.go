package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

var (
	shownLine   = regexp.MustCompile(`(?m)^\s*(?:\$ )?(holdgate [a-z][^\n]*)$`)
	shownInline = regexp.MustCompile("`(holdgate [a-z][^`]*)`")
	flagWord    = regexp.MustCompile(`^--[a-z][a-z-]*`)
)

// Each command that the pages show is there, with the flags that it is shown with.
func TestTheDocsShowCommandsThatThereAre(t *testing.T) {
	all := commands(&env{&command.Env{}})
	names, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, name := range append(names, "../../../README.md", "../../../policies/README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range slices.Concat(shownLine.FindAllSubmatch(text, -1), shownInline.FindAllSubmatch(text, -1)) {
			checked++
			if fault := checkShown(all, string(m[1])); fault != "" {
				t.Errorf("%s shows %q: %s", filepath.Base(name), m[1], fault)
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d commands were found", checked)
	}
}

// checkShown says what is wrong with a command line.
func checkShown(all []*cli.Command, line string) string {
	line, _, _ = strings.Cut(line, " #")
	words := strings.Fields(line)[1:]
	flags := globalFlags()
	found := find(all, words[:1])
	if found == nil {
		return "there is no command " + words[0]
	}
	for len(words) > 0 {
		if next := find(all, words[:1]); next == nil {
			break
		} else {
			found, all, words = next, next.Subcommands, words[1:]
		}
	}
	known := []string{"help"}
	for _, f := range append(flags, found.Flags...) {
		known = append(known, f.Names()...)
	}
	for _, w := range words {
		if w == "--" || strings.ContainsAny(w, "|>;&<") {
			break
		}
		if flag := flagWord.FindString(w); flag != "" && !slices.Contains(known, flag[2:]) {
			return found.Name + " has no flag " + flag
		}
	}
	return ""
}
