package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// ours is a command as a text names it: "holdgate NAME NAME".
var ours = regexp.MustCompile(`(?:^|[^-/.\w])holdgate ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?`)

// unknownCommand is what a text names that is no command. Whole: what follows a
// group is one of its commands, and not the next word of a sentence. config does
// something by itself, and a group with arguments takes those.
func unknownCommand(text string, all []*cli.Command, whole bool) string {
	for _, m := range ours.FindAllStringSubmatch(text, -1) {
		c := find(all, m[1:2])
		if c == nil {
			return "holdgate " + m[1]
		}
		if group := len(c.Subcommands) > 0 && c.Name != "config" && c.ArgsUsage == ""; whole && group && m[2] != "" && find(c.Subcommands, m[2:3]) == nil {
			return "holdgate " + m[1] + " " + m[2]
		}
	}
	return ""
}

// What the documents show as code, and what the program says, are commands that
// there are.
func TestEveryCommandThatIsNamedIsOne(t *testing.T) {
	all := commands(&env{&command.Env{}})
	root := filepath.Join("..", "..", "..")
	var docs []string
	for _, pattern := range []string{"*.md", "docs/*.md", "policies/*.md", "deploy/*", "cmd/holdgate/cli/setup/starter/*", "cmd/holdgate/cli/setup/starter/rules/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, found...)
	}
	seen := 0
	for _, file := range docs {
		if filepath.Base(file) == "CHANGELOG.md" || !strings.Contains(filepath.Base(file), ".") {
			continue // it tells of what was
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, code := range codeOf(string(text), strings.HasSuffix(file, ".md")) {
			seen += len(ours.FindAllString(code, -1))
			if name := unknownCommand(code, all, true); name != "" {
				t.Errorf("%s, piece of code %d, names %q, which is no command", file, i+1, name)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands are named: is this where the documents are?", seen)
	}
	eachString(t, func(at, text string) {
		if name := unknownCommand(text, all, false); name != "" {
			t.Errorf("%s: a text names %q, which is no command", at, name)
		}
	})
	if got := unknownCommand("run `holdgate audit stats` and holdgate watch", all, true); got != "holdgate audit stats" {
		t.Errorf("a command that is none is found as %q", got)
	}
}

var span = regexp.MustCompile("`[^`]+`")

// codeOf is the code of a document: of Markdown, blocks and what stands in backticks.
func codeOf(text string, markdown bool) (all []string) {
	fenced := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fenced = !fenced
		case !markdown || fenced || strings.HasPrefix(line, "    "):
			line, _, _ = strings.Cut(line, "# ") // what follows says something about it
			all = append(all, strings.TrimSpace(line))
		default:
			for _, s := range span.FindAllString(line, -1) {
				all = append(all, strings.Trim(s, "`"))
			}
		}
	}
	return all
}

// eachString calls fn with every text that the commands hold.
func eachString(t *testing.T, fn func(at, text string)) {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"*.go", "../run/*.go", "../launch/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					fn(files.Position(lit.Pos()).String(), text)
				}
			}
			return true
		})
	}
}
