package snippet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// TestPrograms reads the files in testdata: programs after a line "---", each
// with what is found in it below a line "=>". HOLDGATE_UPDATE=1 writes them anew.
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	for _, file := range files {
		language, _, _ := strings.Cut(filepath.Base(file), "-")
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for i, program := range strings.Split(string(raw), "\n---\n") {
			if i == 0 {
				out.WriteString(program)
				continue
			}
			code, want, _ := strings.Cut(strings.TrimSuffix(program, "\n"), "\n=> ")
			got := outcome.Describe(Read(language, code))
			if got != want && os.Getenv("HOLDGATE_UPDATE") == "" {
				t.Errorf("%s:\n%s\n got %s\nwant %s", file, code, got, want)
			}
			out.WriteString("\n---\n" + code + "\n=> " + got)
		}
		if os.Getenv("HOLDGATE_UPDATE") != "" {
			if err := os.WriteFile(file, []byte(out.String()+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
