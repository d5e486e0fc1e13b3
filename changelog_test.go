package holdgate_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	entryBegins = regexp.MustCompile(`^(?:#|- |$)`)
	oneToken    = regexp.MustCompile("(?:`[^`]*`|\\[[^\\]]*\\]\\([^)]*\\)|[^\\s])+") // code and links stay whole
)

// The changelog has lines of 100 columns at most, and each entry once: main merges it line by line,
// so that an entry which was broken anew elsewhere may come twice.
func TestTheChangelogReadsWell(t *testing.T) {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	want := wrapChangelog(string(text))
	if *writeReferences {
		if err := os.WriteFile("CHANGELOG.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Error("CHANGELOG.md has lines of more than 100 columns, or an entry twice: go test . -run TestTheChangelog -write-references")
	}
}

// wrapChangelog breaks entries with a line that is too long, and takes out those that come again below
// the same heading.
func wrapChangelog(text string) string {
	var b strings.Builder
	seen := map[string]bool{}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for len(lines) > 0 {
		n, long := 1, utf8.RuneCountInString(lines[0]) > 100
		for n < len(lines) && !entryBegins.MatchString(lines[n]) {
			long = long || utf8.RuneCountInString(lines[n]) > 100
			n++
		}
		entry := strings.Join(lines[:n], "\n")
		lines = lines[n:]
		if strings.HasPrefix(entry, "## ") {
			clear(seen)
		}
		words := strings.Join(strings.Fields(entry), " ")
		if seen[words] && strings.HasPrefix(entry, "- ") {
			continue
		}
		seen[words] = true
		if long {
			entry = brokenEntry(words)
		}
		b.WriteString(entry + "\n")
	}
	return b.String()
}

// brokenEntry breaks between words, and keeps code and links whole.
func brokenEntry(words string) string {
	var b strings.Builder
	columns := 0
	for _, word := range oneToken.FindAllString(words, -1) {
		switch n := utf8.RuneCountInString(word); {
		case columns == 0:
			columns = n
		case columns+1+n > 100:
			b.WriteString("\n  ")
			columns = 2 + n
		default:
			b.WriteByte(' ')
			columns += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}

func TestWrappingTheChangelog(t *testing.T) {
	long := "- [BUGFIX] " + strings.Repeat("word ", 20) + "`code with blanks`."
	wrapped := "- [BUGFIX] " + strings.Repeat("word ", 17) + "word\n  word word `code with blanks`."
	for _, tt := range []struct{ text, want string }{
		{"# C\n\n## U\n\n" + long + "\n- short\n", "# C\n\n## U\n\n" + wrapped + "\n- short\n"},
		{"## U\n\n" + wrapped + "\n- b\n" + long + "\n", "## U\n\n" + wrapped + "\n- b\n"},
		{"## U\n\n- a\n\n## V\n\n- a\n", "## U\n\n- a\n\n## V\n\n- a\n"},
	} {
		if got := wrapChangelog(tt.text); got != tt.want {
			t.Errorf("%q\nbecomes %q\nwant    %q", tt.text, got, tt.want)
		}
	}
}
