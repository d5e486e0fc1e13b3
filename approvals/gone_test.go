package approvals

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdgate/holdgate"
)

func TestWhatIsDeletedIsCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 12 {
		file := filepath.Join(dir, "gen", fmt.Sprint(i%3), fmt.Sprint(i))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/", filepath.Join(dir, "gen", "root")); err != nil {
		t.Fatal(err)
	}
	rm := func(paths ...string) *holdgate.Facts {
		f := &holdgate.Facts{
			Dir: dir, Impact: holdgate.Impact{Recursive: true},
			Commands: []holdgate.Command{{Program: "rm", Argv: append([]string{"rm", "-rf"}, paths...)}},
		}
		for _, path := range paths {
			f.Paths = append(f.Paths, holdgate.Path{Path: path, Clean: filepath.Join(dir, path), Access: "delete", Inside: true})
		}
		return f
	}
	find := rm("gen")
	find.Commands = []holdgate.Command{{Program: "find", Argv: []string{"find", "gen", "-name", "*.o", "-delete"}}}
	outside := rm("gen")
	outside.Paths[0].Inside = false
	flat := rm("gen")
	flat.Impact.Recursive = false
	for name, c := range map[string]struct {
		d    holdgate.Decision
		want string
	}{
		"a folder":               {holdgate.Decision{Facts: rm("gen")}, "13 files"},
		"a part of it":           {holdgate.Decision{Facts: rm("gen/1")}, "4 files"},
		"a folder and parts":     {holdgate.Decision{Facts: rm("gen/1", "gen", "gen/1/1", "gen")}, "13 files"},
		"a folder, like another": {holdgate.Decision{Facts: rm("gen/1", "gen/1/1", "gen/10", "gen/2")}, "8 files"},
		"one file":               {holdgate.Decision{Facts: rm("gen/1/1")}, ""},
		"a link to elsewhere":    {holdgate.Decision{Facts: rm("gen/root")}, ""},
		"nothing there":          {holdgate.Decision{Facts: rm("nothing")}, ""},
		"names of many":          {holdgate.Decision{Facts: rm("gen/*")}, ""},
		"what a search finds":    {holdgate.Decision{Facts: find}, ""},
		"outside of the folder":  {holdgate.Decision{Facts: outside}, ""},
		"the folder alone":       {holdgate.Decision{Facts: flat}, ""},
		"what policy hides":      {holdgate.Decision{Facts: rm("gen"), Redact: []string{"/arguments/command"}}, ""},
		"facts that nobody made": {holdgate.Decision{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := goneOf(c.d); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if n := files(filepath.Join(dir, "gen"), true, 5); n != 5 {
		t.Errorf("counted %d of at most 5", n)
	}
}
