// Package patch reads which files a patch touches: the text that agents hand to
// apply_patch, with a line for each file ("*** Update File: a.go"), and what a
// unified diff says that it writes. What the lines between them change is not read.
package patch

import "strings"

// A File is one that a patch touches, as it names it.
type File struct {
	Name   string
	Delete bool // else it is written
}

// operations are the lines that name files.
var operations = []struct {
	prefix  string
	deletes bool
}{
	{"*** Add File:", false},
	{"*** Update File:", false},
	{"*** Delete File:", true},
	{"*** Move to:", false},
	{"+++ b/", false},
}

// Files are the files that the text names, in its order. It reports false where the
// text says something, and names none.
func Files(text string) (files []File, ok bool) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, op := range operations {
			if name, ok := strings.CutPrefix(line, op.prefix); ok {
				files = append(files, File{strings.TrimSpace(name), op.deletes})
			}
		}
	}
	return files, len(files) > 0 || strings.TrimSpace(text) == ""
}
