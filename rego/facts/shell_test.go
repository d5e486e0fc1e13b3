package facts

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A shellCase is a text, of shell or SQL, and its facts, as render writes them.
type shellCase struct{ line, want string }

const (
	shellFiles = "testdata/*.txt"
	sqlFiles   = "sql/testdata/*.txt"
)

func shellCases(t testing.TB) map[string][]shellCase { return casesIn(t, shellFiles) }

// casesIn reads the files. A text begins with "$ " and goes on with
// "> ", or ">" for an empty line; the lines after it, up to a blank one, are what it must yield. Lines
// that begin with "=> " say what the shipped pack decides, and are for the
// tests of package rego. Headings begin with "##".
func casesIn(t testing.TB, pattern string) map[string][]shellCase {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	cases := make(map[string][]shellCase)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
			if strings.HasPrefix(block, "##") {
				continue
			}
			var line, want []string
			for l := range strings.SplitSeq(block, "\n") {
				if text, ok := strings.CutPrefix(l, "$ "); ok {
					line = append(line, text)
				} else if text, ok := strings.CutPrefix(l, "> "); (ok || l == ">") && len(want) == 0 {
					line = append(line, text)
				} else if !strings.HasPrefix(l, decided) {
					want = append(want, l)
				}
			}
			cases[file] = append(cases[file], shellCase{strings.Join(line, "\n"), strings.Join(want, "\n")})
		}
	}
	return cases
}

// decided begins a line of a case that says what the shipped pack decides.
const decided = "=> "

var update = flag.Bool("update", false, "rewrite the facts in testdata")

// updateCases writes the facts as they are into the files, for a reader of
// the difference to judge.
func updateCases(t *testing.T, pattern string, read func(testing.TB, string) Facts) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	cases := casesIn(t, pattern)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		i := 0
		for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
			if !strings.HasPrefix(block, "##") {
				line := cases[file][i].line
				i++
				_, decision, _ := strings.Cut(block, "\n"+decided)
				block = "$ " + strings.ReplaceAll(line, "\n", "\n> ") + "\n" + render(read(t, line))
				if decision != "" {
					block = strings.TrimRight(block, "\n") + "\n" + decided + decision
				}
			}
			out = append(out, strings.TrimRight(block, "\n"))
		}
		if err := os.WriteFile(file, []byte(strings.Join(out, "\n\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestShellLines(t *testing.T) {
	if *update {
		updateCases(t, shellFiles, bashFacts)
	}
	n := 0
	for file, cases := range shellCases(t) {
		for _, tt := range cases {
			n++
			t.Run(filepath.Base(file)+"/"+tt.line, func(t *testing.T) {
				if diff := cmp.Diff(tt.want, render(bashFacts(t, tt.line))); diff != "" {
					t.Errorf("facts of %q (-want +got):\n%s", tt.line, diff)
				}
			})
		}
	}
	if n < 300 {
		t.Errorf("%d cases were read, want all of some 400", n)
	}
}

// TestStatements holds what statements of PostgreSQL, MySQL, SQLite, SQL
// Server and others are read as, half of them written to hide something.
func TestStatements(t *testing.T) {
	if *update {
		updateCases(t, sqlFiles, sqlFacts)
	}
	n := 0
	for file, cases := range casesIn(t, sqlFiles) {
		for _, tt := range cases {
			n++
			t.Run(filepath.Base(file)+"/"+tt.line, func(t *testing.T) {
				if diff := cmp.Diff(tt.want, render(sqlFacts(t, tt.line))); diff != "" {
					t.Errorf("facts of %q (-want +got):\n%s", tt.line, diff)
				}
			})
		}
	}
	if n < 390 {
		t.Errorf("%d cases were read, want all of some 400", n)
	}
}
