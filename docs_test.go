package holdgate_test

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/holdgate/holdgate/docs/docstest"
	"github.com/holdgate/holdgate/store/audit"
)

// pages are all that is written for readers, by their paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	return docstest.Pages(t, ".")
}

// A paragraph is the prose between two blank lines, headings or items of lists.
type paragraph struct {
	line  int // the first, from 1
	lines []string
}

var begins = regexp.MustCompile(`^\s*(?:[-*] |#|\d+\. |>|$)`)

// prose is a page without its tables and code.
func prose(text string) (list []paragraph) {
	var p paragraph
	end := func() {
		if len(p.lines) > 0 {
			list = append(list, p)
		}
		p = paragraph{}
	}
	fenced, listed := false, false
	for i, line := range strings.Split(text, "\n") {
		bare := strings.TrimSpace(line)
		if strings.HasPrefix(bare, "```") {
			fenced = !fenced
			end()
			continue
		}
		listed = listed && bare == "" || begins.MatchString(line) && bare != "" && !strings.HasPrefix(bare, "#") || listed && strings.HasPrefix(line, " ")
		code := strings.HasPrefix(line, "    ") && len(p.lines) == 0 && !(listed && regexp.MustCompile(`^\s*(?:[-*] |\d+\. )`).MatchString(line))
		switch {
		case fenced || code || strings.HasPrefix(bare, "|"):
			end()
			continue
		case begins.MatchString(line):
			end()
		}
		if bare != "" {
			if len(p.lines) == 0 {
				p.line = i + 1
			}
			p.lines = append(p.lines, line)
		}
		if strings.HasPrefix(bare, "#") {
			end()
		}
	}
	end()
	return list
}

var linkTarget = regexp.MustCompile(`\]\([^)]*\)`)

// A reader reads each sentence once: none has more than 30 words, where what stands in
// backticks is one. No line is longer than 100 columns, but in tables and code.
func TestPagesReadWell(t *testing.T) {
	for name, text := range pages(t) {
		var lines, sentences []string
		for _, p := range prose(text) {
			for i, line := range p.lines {
				if n := len([]rune(line)); n > 100 && !strings.Contains(line, "<img") {
					lines = append(lines, fmt.Sprintf("%s:%d: the line has %d columns, more than 100", name, p.line+i, n))
				}
			}
			for _, s := range docstest.TooLong(strings.Join(p.lines, " ")) {
				sentences = append(sentences, fmt.Sprintf("%s:%d: %s", name, p.line, s))
			}
		}
		if found := slices.Concat(lines, sentences); len(found) > 0 {
			t.Error(strings.Join(found, "\n"))
		}
	}
	if n := strings.Count(pages(t)["README.md"], "\n"); n > 60 {
		t.Errorf("README.md has %d lines, more than 60", n)
	}
}

var (
	links   = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fences  = regexp.MustCompile("(?s)```.*?```")
)

// anchors are the fragments that a page's headings can be reached by, as GitHub makes them.
func anchors(text string) (list []string) {
	for _, h := range heading.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
		a := strings.ToLower(linkTarget.ReplaceAllString(h[1], "]"))
		list = append(list, strings.ReplaceAll(regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(a, ""), " ", "-"))
	}
	return list
}

// Each link within the repository leads somewhere, to the very heading that it names.
func TestLinksLead(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, m := range links.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
			target, fragment, _ := strings.Cut(m[1]+m[2], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			to := name
			if target != "" {
				to = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s leads to %s, which is not there", name, target)
			} else if fragment != "" && !slices.Contains(anchors(all[to]), fragment) {
				t.Errorf("%s leads to %s#%s, and no heading there is called so", name, to, fragment)
			}
		}
	}
}

// The cookbook shows the files that are tested, and each of them.
func TestTheCookbookShowsWhatIsTested(t *testing.T) {
	page := pages(t)["docs/cookbook.md"]
	rules, err := filepath.Glob("docs/cookbook/*.rego")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, name := range rules {
		if strings.HasSuffix(name, "_test.rego") {
			continue
		}
		shown++
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page, "```rego\n"+string(text)+"```\n") {
			t.Errorf("docs/cookbook.md does not show %s as it is", name)
		}
		if _, err := os.Stat(strings.TrimSuffix(name, ".rego") + "_test.rego"); err != nil {
			t.Errorf("%s has no test", name)
		}
	}
	if blocks := strings.Count(page, "```rego\n"); blocks != shown || shown < 30 {
		t.Errorf("docs/cookbook.md shows %d rules, and there are %d, want 30 at least", blocks, shown)
	}
}

// The page about channels shows the one that is tested.
func TestThePageOfChannelsShowsWhatIsTested(t *testing.T) {
	page := pages(t)["docs/channels-sdk.md"]
	for _, name := range []string{"main.go", "main_test.go"} {
		text, err := os.ReadFile(filepath.Join("docs/examples/channel-file", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page, "```go\n"+string(text)+"```\n") {
			t.Errorf("docs/channels-sdk.md does not show docs/examples/channel-file/%s as it is", name)
		}
	}
}

// The demo from a clone says that it compiles before it does.
func TestTheDemoSaysThatItCompiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\necho \"go $*\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "deploy/demo", "--decide", "deny")
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if want := "Compiling Holdgate. The first time takes minutes ...\ngo run ./cmd/holdgate demo --decide deny\n"; err != nil || string(out) != want {
		t.Errorf("it says %q (%v), want %q", out, err, want)
	}
}

// On a terminal it names what it compiles, and keeps what went wrong.
func TestTheDemoNamesWhatItCompiles(t *testing.T) {
	dir := t.TempDir()
	program := "#!/bin/sh\nif [ $1 = build ]; then printf 'go: downloading m v1\\nexample/one\\nexample/two\\nx.go:1: bad word\\n' >&2; fi\necho \"go $*\"\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "deploy/demo")
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	screen, err := pty.Start(cmd)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer screen.Close()
	out, _ := io.ReadAll(screen) // it ends with an error where the terminal does
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"Compiling Holdgate.", "1: v1", "3: example/two", "\x1b[Kx.go:1: bad word\r\n", "go run ./cmd/holdgate demo"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q: %q", want, out)
		}
	}
}

// The glossary explains each term in backticks that is Holdgate's own: a value that the APIs or keys
// of the configuration choose from, or the policy's schemas, or a type of entry of the log. Commands, flags, files, keys, rules
// and code explain themselves where they stand.
func TestTheGlossaryHasTheTermsOfThePages(t *testing.T) {
	all := pages(t)
	rows := regexp.MustCompile(`(?m)^\| ([a-z]+) \|`).FindAllStringSubmatch(all["docs/glossary.md"], -1)
	explained := map[string]bool{}
	for _, word := range slices.Concat(rows, oneBackticked.FindAllStringSubmatch(all["docs/glossary.md"], -1)) {
		explained[word[1]] = true
	}
	values := map[string]bool{}
	for _, document := range references {
		for _, value := range enumerated(readOpenAPI(t, document)) {
			values[value] = true
		}
	}
	for _, schema := range []string{"input", "decision", "settings"} {
		for _, value := range enumerated(readOpenAPI(t, "policies/schemas/"+schema+"/"+schema+".json")) {
			values[value] = true
		}
	}
	for _, typ := range audit.Types() {
		values[string(typ)] = true
	}
	maps.Copy(values, chosen(all["docs/configuration-keys.md"]))
	used := 0
	for name, text := range all {
		if _, made := references[name]; made || name == "docs/glossary.md" {
			continue
		}
		for _, word := range oneBackticked.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
			if values[word[1]] {
				used++
				if !explained[word[1]] {
					t.Errorf("%s says `%s`, a term of Holdgate's, which docs/glossary.md does not explain", name, word[1])
				}
			}
		}
	}
	if used < 300 {
		t.Errorf("only %d terms were found", used)
	}
}

// foreign are values of keys that are no terms of Holdgate's: JSON's, OpenID Connect's, weekdays.
var foreign = []string{"true", "false", "email", "groups", "openid", "profile", "offline_access", "mon"}

// chosen are the values that keys of the configuration can have, by the page of the keys.
func chosen(page string) map[string]bool {
	keys, values := map[string]bool{}, map[string]bool{}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|(.*)$").FindAllStringSubmatch(page, -1)
	for _, row := range rows {
		for _, key := range regexp.MustCompile(`[a-z_]+`).FindAllString(row[1], -1) {
			keys[key] = true
		}
	}
	for _, row := range rows {
		for _, word := range oneBackticked.FindAllStringSubmatch(row[2], -1) {
			if !keys[word[1]] && !strings.Contains(word[1], ".") && !slices.Contains(foreign, word[1]) {
				values[word[1]] = true
			}
		}
	}
	return values
}

var oneBackticked = regexp.MustCompile("`([a-z][a-z_.]*)`")

// enumerated are the values that schemas below an object list.
func enumerated(o object) (values []string) {
	for name, member := range o.each() {
		if name == "enum" {
			for _, value := range member.list() {
				values = append(values, value.text())
			}
		}
		values = append(values, enumerated(member)...)
	}
	for _, item := range o.list() {
		values = append(values, enumerated(item)...)
	}
	return values
}
