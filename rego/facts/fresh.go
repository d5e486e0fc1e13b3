package facts

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// What a call writes is a part of the call. A file whose whole content the line
// shows can be read where it is run later, and a file for temporary use that the
// line has made takes nothing with it where it is deleted.
//
// What a file holds is kept as a variable of the shell, under a name that no
// variable can have: then what branches and loops leave is known as it is of
// variables. Any other write to the file makes it unknown, wherever it stands.

// fileVariable is the name under which the content of a file is kept.
func fileVariable(clean string) string { return "\x00" + clean }

// fileAt is where a file lies that a word names.
func (s *shell) fileAt(f field) (string, bool) {
	if !f.known() || f.glob || f.stdin || s.remote || f.text == "" || len(s.dirs) != 1 && !path.IsAbs(f.text) {
		return "", false
	}
	text, known := s.x.ExpandTilde(f.text, false)
	if strings.ContainsFunc(text, func(r rune) bool { return r > 0x7e }) {
		return "", false
	}
	if path.IsAbs(text) {
		return collect.FileKey(path.Clean(text)), known
	}
	return collect.FileKey(collect.JoinDir(s.dirs[0], text)), known
}

// poured notes that a statement has replaced the content of a file by what it
// prints.
func (s *shell) poured(st *syntax.Stmt, out replacement) {
	if text, ok := s.tempFile(out.file); ok && !s.quiet && !out.file.glob {
		s.x.Temporary[text] = true
	}
	at, ok := s.fileAt(out.file)
	if n := out.redirect.N; !ok || s.quiet || n != nil && n.Value != "1" {
		return
	}
	plain := *st
	plain.Redirs = nil
	for _, r := range st.Redirs {
		if r != out.redirect {
			plain.Redirs = append(plain.Redirs, r)
		}
	}
	printed := s.output(&plain)
	if !printed.known {
		s.vars[fileVariable(at)] = variable{values: []string{"", strconv.Itoa(s.x.Version(at))}, origin: s.quietly().stmtOrigin(&plain)}
		return
	}
	s.vars[fileVariable(at)] = variable{values: []string{printed.text, strconv.Itoa(s.x.Version(at))}, array: true, known: true}
}

// content is what a file holds, where the line itself has shown all of it and
// nothing since may have changed it.
func (s *shell) content(f field) (string, bool) {
	at, ok := s.fileAt(f)
	v := s.vars[fileVariable(at)]
	if !ok || s.wild || s.x.Scatters || s.x.Places || s.x.Linked || !v.known || v.values[1] != strconv.Itoa(s.x.Version(at)) {
		return "", false
	}
	s.x.Relied[at] = s.x.Version(at)
	return v.values[0], true
}

// contentOrigin is where the content of a file comes from that the line has written.
func (s *shell) contentOrigin(f field) origin {
	at, ok := s.fileAt(f)
	v := s.vars[fileVariable(at)]
	if !ok || s.wild || s.x.Scatters || s.x.Linked || s.x.Beside && s.x.Writes[at] != 1 || v.known || len(v.values) < 2 || v.values[1] != strconv.Itoa(s.x.Version(at)) {
		return originAny
	}
	return v.origin
}

// tempFile is the path of a file in a folder for temporary files. Numbers and the
// like in its name stand as "*".
func (s *shell) tempFile(f field) (string, bool) {
	text, known := atoms(f)
	if !known || f.stdin || s.remote || strings.Contains(text, "..") || !strings.HasPrefix(text, "/tmp/") || strings.HasSuffix(text, "/") {
		return "", false
	}
	return path.Clean(text), true
}

// mktempName begins what mktemp prints, where that is not told otherwise: a file or
// a folder that was not there before.
const mktempName = "/tmp/tmp.XXXXXXXXXX"

// ownTemporary reports whether what is deleted was for temporary use: what mktemp has
// made, single files that the line has written, and a single file in /tmp by its name,
// but for one that the line has put there otherwise.
func (s *shell) ownTemporary(f field) bool {
	if at, ok := s.fileAt(f); ok && s.x.Single && s.x.Copies[at] {
		return true
	}
	at, ok := s.tempFile(f)
	switch {
	case !ok:
		return false
	case f.glob && !(s.x.Single && f.known()):
		return false
	case !f.glob && at == mktempName, strings.HasPrefix(at, mktempName+"/"), strings.HasPrefix(at, mktempName+"."), s.x.Temporary[at]:
		return true
	}
	if s.x.Single && f.known() && f.glob {
		return scratchPattern.MatchString(at) && slices.ContainsFunc(slices.Collect(maps.Keys(s.x.Temporary)), func(made string) bool {
			return collect.GlobMatch(at, made) || collect.GlobMatch(at, strings.ReplaceAll(made, "*", "x"))
		})
	}
	return s.x.Single && f.known() && s.x.Version(collect.FileKey(at)) == 0 && scratchFile.MatchString(at)
}

// besides notes a copy that is put beside a file, under its name with another end.
func (s *shell) besides(file, end string) {
	if !copyEnd.MatchString(end) {
		return
	}
	if at, ok := s.fileAt(field{text: file + end}); ok && !s.quiet {
		if s.x.Copies == nil {
			s.x.Copies = make(map[string]bool)
		}
		s.x.Copies[at] = true
	}
}

// copyEnd is what copies for a while end in.
var copyEnd = regexp.MustCompile(`^(\.(bak|orig|old|tmp|save|backup|before|prev)|~)$`)

// scratchFile is a file for temporary use, by its name: no socket, and nothing hidden.
var scratchFile = regexp.MustCompile(`^/tmp/([\w-][\w.-]*/){0,2}[\w-][\w.-]*\.(txt|json|jsonl|log|py|js|mjs|ts|go|sh|sql|db|csv|tsv|md|html|xml|ya?ml|out|tmp|png|patch|diff|bak|rb|c|java|rs|toml|conf|zip|tgz|gz)$`)

// scratchPattern are several such files, by the beginning of their names.
var scratchPattern = regexp.MustCompile(`^/tmp/([\w-]+/)?[\w-]{3,}[\w.*-]*\.(txt|json|jsonl|log|out|tmp|csv|tsv|xml|html|md|png)$`)

// deletesSingly reports whether a command deletes no folders.
func (in invocation) deletesSingly() bool {
	return wordlist.Has("rm unlink", in.name()) && len(in.roots) == 0 && !slices.ContainsFunc(in.words[1:], func(f field) bool {
		return !f.known() || strings.HasPrefix(f.text, "--") && f.text != "--force" && f.text != "--" || strings.HasPrefix(f.text, "-") && strings.ContainsAny(f.text, "rRd")
	})
}

// scriptOf is a command that runs a file of which the line has shown the content,
// with the interpreter that the file names before it.
func (s *shell) scriptOf(in invocation) (invocation, bool) {
	w := in.words[0]
	if !strings.Contains(w.text, "/") {
		return in, false
	}
	text, ok := s.content(w)
	line, _, _ := strings.Cut(text, "\n")
	program, ok2 := strings.CutPrefix(strings.TrimSpace(line), "#!")
	words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(program), "/usr/bin/env "))
	if !ok || !ok2 || len(words) != 1 || !wordlist.Has("bash sh dash zsh python python3 node", path.Base(words[0])) {
		return in, false
	}
	next := in
	next.words = append([]field{{text: path.Base(words[0])}}, in.words...)
	next.plain = true
	return next, true
}
