// Package outcome is what a small program does: the files that it touches and the
// commands that it runs.
package outcome

import "strings"

// MaxBytes bounds a program that is read.
const MaxBytes = 64 << 10

// Effects are what a program may do.
type Effects struct {
	Reads, Writes, Deletes []Place
	Trees                  bool       // folders are deleted with what is in them
	Shell                  []string   // lines that it hands to a shell
	Commands               [][]string // programs that it starts, with their arguments
	Folders                []string   // where it looks for such modules before anything else
	Project                []string   // modules of the project that it loads, as in "shop.money"
	Unseen                 []string   // what cannot be seen, in words
}

// Describe writes what was found in a program as one line, as in "reads data.csv; runs git
// log". It takes what a reader answers.
func Describe(e Effects, err error) string {
	if err != nil {
		return "not read: " + err.Error()
	}
	var parts []string
	add := func(what string, list []Place) {
		for _, p := range list {
			parts = append(parts, what+" "+p.String())
		}
	}
	add("reads", e.Reads)
	add("writes", e.Writes)
	add("deletes", e.Deletes)
	for _, l := range e.Shell {
		parts = append(parts, "shell "+l)
	}
	for _, c := range e.Commands {
		parts = append(parts, "runs "+strings.Join(c, " "))
	}
	for _, f := range e.Folders {
		parts = append(parts, "modules of "+f)
	}
	for _, m := range e.Project {
		parts = append(parts, "project "+m)
	}
	for _, u := range e.Unseen {
		parts = append(parts, "UNSEEN "+u)
	}
	if len(parts) == 0 {
		return "prints"
	}
	return strings.Join(parts, "; ")
}

// A Place is a file, or what lies below a folder.
type Place struct {
	Path    string
	Below   bool   // files below Path, at any depth
	Up      bool   // Path itself is meant, too
	Pattern string // of the names of those files; empty where any name is meant
}

// String writes a place as a shell would: a folder's files are a pattern.
func (p Place) String() string {
	if !p.Below {
		return p.Path
	}
	pattern := p.Pattern
	if pattern == "" {
		pattern = "*"
	}
	return strings.TrimSuffix(p.Path, "/") + "/" + pattern
}
