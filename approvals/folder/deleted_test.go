package folder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
)

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// removal is what is known of "rm -rf" in a folder.
func removal(dir string, paths ...string) *holdgate.Facts {
	f := &holdgate.Facts{
		Dir: dir, Impact: holdgate.Impact{Recursive: true},
		Commands: []holdgate.Command{{Program: "rm", Argv: append([]string{"rm", "-rf"}, paths...)}},
		Effects:  []holdgate.Effect{{Kind: holdgate.EffectDelete, What: "folder", Undoable: holdgate.UndoableUnknown, Because: "git", Says: "Deletes " + strings.Join(paths, ", ") + " and everything in it"}},
	}
	for _, path := range paths {
		f.Paths = append(f.Paths, holdgate.Path{Path: path, Clean: filepath.Join(dir, path), Access: "delete", Inside: true})
		f.Impact.More = f.Impact.More || strings.Contains(path, "*")
	}
	return f
}

func TestWhatIsDeletedIsCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 12 {
		put(t, filepath.Join(dir, "gen", fmt.Sprint(i%3), fmt.Sprint(i)), "")
	}
	put(t, filepath.Join(dir, "gen", "0", ".hidden"), "")
	if err := os.Symlink("/", filepath.Join(dir, "gen", "root")); err != nil {
		t.Fatal(err)
	}
	with := func(f *holdgate.Facts, edit func(*holdgate.Facts)) *holdgate.Facts {
		edit(f)
		return f
	}
	for name, c := range map[string]struct {
		f    *holdgate.Facts
		want int
	}{
		"a folder":               {removal(dir, "gen"), 14},
		"a part of it":           {removal(dir, "gen/1"), 4},
		"a folder and parts":     {removal(dir, "gen/1", "gen", "gen/1/1", "gen"), 14},
		"a folder, like another": {removal(dir, "gen/1", "gen/1/1", "gen/10", "gen/2"), 8},
		"one file":               {removal(dir, "gen/1/1"), 1},
		"a link to elsewhere":    {removal(dir, "gen/root"), 1},
		"nothing there":          {removal(dir, "nothing"), 0},
		"names of many":          {removal(dir, "gen/*"), 14},
		"names of files":         {removal(dir, "gen/0/*"), 4},
		"names that begin so":    {removal(dir, "gen/1/1*"), 2},
		"names in many folders":  {removal(dir, "gen/*/1"), 0},
		"hidden names":           {removal(dir, "gen/0/.*"), 1},
		"what is written so": {with(removal(dir, "gen/0/*"), func(f *holdgate.Facts) {
			f.Impact.More = false
		}), 0},
		"a pattern that is a number": {with(removal(dir, "gen/1/$(date +%s)"), func(f *holdgate.Facts) {
			f.Paths[0].Clean, f.Impact.More = filepath.Join(dir, "gen/1/*"), true
		}), 0},
		"a shell that means more": {with(removal(dir, "gen/0/*"), func(f *holdgate.Facts) {
			f.Commands = append(f.Commands, holdgate.Command{Program: "shopt", Argv: []string{"shopt", "-s", "dotglob"}})
		}), 0},
		"what a search finds": {with(removal(dir, "gen"), func(f *holdgate.Facts) {
			f.Commands = []holdgate.Command{{Program: "find", Argv: []string{"find", "gen", "-name", "*.o", "-delete"}}}
		}), 0},
		"outside of the folder": {with(removal(dir, "gen"), func(f *holdgate.Facts) { f.Paths[0].Inside = false }), 0},
		"the folder alone":      {with(removal(dir, "gen"), func(f *holdgate.Facts) { f.Impact.Recursive = false }), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := deleted(c.f).files; got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestWhatIsDeletedIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"src/a", "src/b", "src/c", "notes", "kept"} {
		put(t, filepath.Join(dir, name), name)
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", "src/a", "src/b", "kept")
	for name, c := range map[string]struct {
		d          holdgate.Decision
		says, undo string
	}{
		"some are not kept": {holdgate.Decision{Facts: removal(dir, "src")}, "Deletes src and everything in it (3 files, 1 not in git)", "cannot be undone for files that are not in git"},
		"all are kept":      {holdgate.Decision{Facts: removal(dir, "src/a", "src/b")}, "Deletes src/a, src/b and everything in it (2 files)", briefing.WhereGitKeeps},
		"one is not kept":   {holdgate.Decision{Facts: removal(dir, "notes")}, "Deletes notes and everything in it (not in git)", "cannot be undone: git does not keep it"},
		"none is kept":      {holdgate.Decision{Facts: removal(dir, "notes", "src/c")}, "Deletes notes, src/c and everything in it (2 files, none in git)", "cannot be undone: git does not keep it"},
		"one is kept":       {holdgate.Decision{Facts: removal(dir, "kept")}, "Deletes kept and everything in it", briefing.WhereGitKeeps},
		"policy hides it":   {holdgate.Decision{Facts: removal(dir, "src"), Redact: []string{"/arguments/command"}}, "Deletes src and everything in it", briefing.WhereGitKeeps},
	} {
		t.Run(name, func(t *testing.T) {
			second := briefing.Briefing{Effects: append([]holdgate.Effect{{Says: "Writes x"}}, c.d.Facts.Effects...), Undo: briefing.WhereGitKeeps}
			second.Summary = "Writes x" + briefing.Also(c.d.Facts.Effects[0].Says) + ", and 1 more"
			facts := *c.d.Facts
			facts.Effects = second.Effects
			Complete(&second, holdgate.Decision{Facts: &facts, Redact: c.d.Redact})
			if want := "Writes x" + briefing.Also(c.says) + ", and 1 more"; second.Summary != want {
				t.Errorf("as the second: %q, want %q", second.Summary, want)
			}
			b := briefing.Briefing{Summary: c.d.Facts.Effects[0].Says + ", and 1 more", Effects: c.d.Facts.Effects, Undo: briefing.WhereGitKeeps}
			Complete(&b, c.d)
			if b.Summary != c.says+", and 1 more" || b.Effects[0].Says != c.says || b.Undo != c.undo {
				t.Errorf("got %q, %q, %q", b.Summary, b.Effects[0].Says, b.Undo)
			}
		})
	}
}
