package folder

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/text/unicode/norm"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
)

// maxGone is how many files are counted of those that a call would delete.
const maxGone = 10_000

// gone is what a deletion takes.
type gone struct {
	files   int  // at this moment; none where not all can be counted
	beside  int  // of them, those that git does not keep, as far as that is certain
	unnamed bool // what is deleted is not one file that the call names
}

// deleted counts the files that lie where a call deletes: what "everything in it" comes to.
func deleted(f *holdgate.Facts) (g gone) {
	var paths []string
	for _, p := range f.Paths {
		if p.Access != "delete" {
			continue
		}
		if !p.Inside || !filepath.IsAbs(p.Clean) || strings.ContainsAny(p.Clean, "[{$`\\") || !removed(f, p) {
			return gone{}
		}
		found := []string{p.Clean}
		if f.Impact.More && len(f.Commands) > 0 && strings.ContainsAny(p.Clean, "*?") {
			if filepath.Base(p.Clean) != filepath.Base(p.Path) || !plainly(f) {
				return gone{}
			}
			if found = spelled(p.Clean); found == nil {
				return gone{}
			}
		}
		g.unnamed = g.unnamed || len(found) != 1 || found[0] != p.Clean
		for _, path := range found {
			paths = append(paths, path+"/")
		}
	}
	slices.Sort(paths) // a folder is before what lies below it
	w, last := &walk{recursive: f.Impact.Recursive}, ""
	for _, p := range paths {
		if p == last || f.Impact.Recursive && last != "" && strings.HasPrefix(p, last) {
			continue // it is counted
		}
		last = p
		if w.count(strings.TrimSuffix(p, "/")); w.full() {
			break
		}
	}
	g.files, g.unnamed = len(w.files), g.unnamed || w.folder
	if !w.full() && !w.nested {
		g.beside = beside(w.files)
	}
	return g
}

// tell adds what is deleted to the one effect that says so, and to whether it can be undone.
func (g gone) tell(b *briefing.Briefing, f *holdgate.Facts) {
	var parts []string
	switch {
	case g.files >= maxGone:
		parts = append(parts, fmt.Sprintf("%d files or more", maxGone))
	case g.files > 1 || g.unnamed:
		parts = append(parts, files(g.files))
	}
	switch {
	case g.beside == 0:
	case g.beside < g.files:
		parts = append(parts, fmt.Sprintf("%d not in git", g.beside))
	case g.files == 1:
		parts = append(parts, "not in git")
	default:
		parts = append(parts, "none in git")
	}
	text := strings.Join(parts, ", ")
	if text == "" {
		return
	}
	deletion := -1
	for i, e := range f.Effects[:min(len(f.Effects), len(b.Effects))] {
		if e.Kind == holdgate.EffectDelete && (e.What == "file" || e.What == "folder") {
			if deletion >= 0 {
				deletion = len(f.Effects)
				break
			}
			deletion = i
		}
	}
	if deletion < 0 || deletion == len(f.Effects) || !say(b, deletion, func(says string) string { return says + " (" + text + ")" }) {
		b.Undo += " (" + text + ")"
	}
	if g.beside > 0 && strings.HasPrefix(b.Undo, briefing.WhereGitKeeps) {
		b.Undo = "cannot be undone for files that are not in git"
		if g.beside == g.files {
			b.Undo = "cannot be undone: git does not keep it"
		}
	}
}

// files is a number of them in words.
func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// removed reports whether all that lies at a path is deleted: a command removes it by its
// name, or a tool does.
func removed(f *holdgate.Facts, p holdgate.Path) bool {
	return len(f.Commands) == 0 || slices.ContainsFunc(f.Commands, func(c holdgate.Command) bool {
		return strings.HasPrefix(c.Program, "rm") && slices.Contains(c.Argv, p.Path)
	})
}

// plainly reports whether patterns of the commands mean what they mean in any shell.
func plainly(f *holdgate.Facts) bool {
	return !slices.ContainsFunc(f.Commands, func(c holdgate.Command) bool {
		return c.Program == "shopt" || c.Program == "setopt" || len(c.Via) > 0 && !slices.Equal(c.Via, []string{"sudo"})
	})
}

// spelled lists what a pattern of a shell stands for: names in one folder that begin and end
// as it says; none where that is not certain.
func spelled(path string) (paths []string) {
	dir, pattern := filepath.Split(path)
	before, after, _ := strings.Cut(pattern, "*")
	if strings.ContainsAny(dir, "*?") || strings.ContainsAny(before+after, "*?") {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return nil // it may have been meant as it is written
	}
	in(dir, func(e fs.DirEntry) bool {
		name := e.Name()
		hidden := strings.HasPrefix(name, ".") && before == "" // from a shell's patterns
		if !hidden && len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after) {
			paths = append(paths, dir+name)
		}
		return len(paths) < maxGone
	})
	if len(paths) == maxGone {
		return nil
	}
	return paths
}

// A walk lists the files at some paths and below. It follows no links.
type walk struct {
	recursive bool
	files     []string
	folders   int
	folder    bool // one was walked
	nested    bool // a repository of its own is among them
}

func (w *walk) full() bool { return len(w.files) >= maxGone || w.folders >= maxGone }

func (w *walk) count(path string) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return
	case !info.IsDir():
		w.files = append(w.files, path)
		return
	case !w.recursive:
		return
	}
	w.folder = true
	for folders := []string{path}; len(folders) > 0 && !w.full(); {
		last := len(folders) - 1
		dir := folders[last]
		folders = folders[:last]
		w.nested = w.nested || filepath.Base(dir) == ".git"
		in(dir, func(e fs.DirEntry) bool {
			w.nested = w.nested || e.Name() == ".git"
			name := filepath.Join(dir, e.Name())
			if e.IsDir() {
				folders = append(folders, name)
				w.folders++
			} else {
				w.files = append(w.files, name)
			}
			return !w.full()
		})
	}
}

// in calls yield for what lies in a folder, some at a time, until it returns false.
func in(dir string, yield func(fs.DirEntry) bool) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be no folder any more
	if err != nil {
		return
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			if !yield(e) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// beside counts the files that git does not keep; none where that is not certain: all must
// lie in one working tree, whose index can be read.
func beside(paths []string) (n int) {
	left := make(map[string]int, len(paths))
	top, git, parents := "", "", make(map[string]string)
	for _, p := range paths {
		dir, name := filepath.Split(p)
		real, ok := parents[dir]
		if !ok { // by way of links it may lie elsewhere
			var err error
			if real, err = filepath.EvalSymlinks(dir); err != nil {
				return 0
			}
			parents[dir] = real
			t, g := repository(real)
			if g == "" || top != "" && t != top {
				return 0
			}
			top, git = t, g
		}
		in, err := filepath.Rel(top, filepath.Join(real, name))
		if err != nil {
			return 0
		}
		left[alike(in)]++
	}
	index := read(filepath.Join(git, "index"), maxIndex, false)
	if err := names(index, func(name []byte) { delete(left, alike(string(name))) }); err != nil {
		return 0
	}
	for _, files := range left {
		n += files
	}
	return n
}

// maxIndex is how many bytes an index may have: some 300,000 files.
const maxIndex = 32 << 20

// alike is a name without what some filesystems do not tell apart.
func alike(name string) string { return strings.ToLower(norm.NFC.String(filepath.ToSlash(name))) }
