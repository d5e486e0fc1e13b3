package approvals

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/holdgate/holdgate"
)

// maxGone is how many files are counted of those that a call would delete.
const maxGone = 10_000

// goneOf says how many files lie at this moment where a call deletes, "412 files": what
// "everything in it" comes to. It is empty where not all of it can be counted, and of one
// file alone. The agent may write there: nothing is read but the names in folders.
func goneOf(d holdgate.Decision) string {
	f := d.Facts
	if f == nil || len(d.Redact) > 0 || len(f.ParseErrors) > 0 {
		return ""
	}
	var paths []string
	for _, p := range f.Paths {
		if p.Access != "delete" {
			continue
		}
		if !p.Inside || !filepath.IsAbs(p.Clean) || strings.ContainsAny(p.Clean, "*?[{$`") || !removed(f, p) {
			return ""
		}
		paths = append(paths, p.Clean+"/")
	}
	slices.Sort(paths) // a folder is before what lies below it
	total, last := 0, ""
	for _, p := range paths {
		if p == last || f.Impact.Recursive && last != "" && strings.HasPrefix(p, last) {
			continue // it is counted
		}
		last = p
		total += files(strings.TrimSuffix(p, "/"), f.Impact.Recursive, maxGone-total)
		if total >= maxGone {
			return fmt.Sprintf("%d files or more", maxGone)
		}
	}
	if total < 2 {
		return ""
	}
	return fmt.Sprintf("%d files", total)
}

// removed reports whether all that lies at a path is deleted: a command removes it by its
// name, or a tool does.
func removed(f *holdgate.Facts, p holdgate.Path) bool {
	return len(f.Commands) == 0 || slices.ContainsFunc(f.Commands, func(c holdgate.Command) bool {
		return strings.HasPrefix(c.Program, "rm") && slices.Contains(c.Argv, p.Path)
	})
}

// files counts the files at a path and below, up to a number. It follows no links.
func files(path string, recursive bool, most int) (n int) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return 0
	case !info.IsDir():
		return 1
	case !recursive:
		return 0
	}
	for folders := []string{path}; len(folders) > 0 && n < most; {
		last := len(folders) - 1
		dir := folders[last]
		folders = folders[:last]
		in(dir, func(e fs.DirEntry) bool {
			if e.IsDir() {
				folders = append(folders, filepath.Join(dir, e.Name()))
			} else {
				n++
			}
			return n < most && len(folders) < most
		})
	}
	return n
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
