package shell

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
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

// FileAt is where a file lies that a word names.
func (s *Shell) FileAt(f argv.Field) (string, bool) {
	if !f.Known() || f.Glob || f.Stdin || s.Remote || f.Text == "" || len(s.Dirs) != 1 && !path.IsAbs(f.Text) {
		return "", false
	}
	text, known := s.Found.ExpandTilde(f.Text, false)
	if strings.ContainsFunc(text, func(r rune) bool { return r > 0x7e }) {
		return "", false
	}
	if path.IsAbs(text) {
		return collect.FileKey(path.Clean(text)), known
	}
	return collect.FileKey(collect.JoinDir(s.Dirs[0], text)), known
}

// poured notes that a statement has replaced the content of a file by what it
// prints.
func (s *Shell) poured(st *syntax.Stmt, out replacement) {
	if s.Found.Keeps {
		return
	}
	if text, ok := s.TempFile(out.file); ok && !s.Quiet && !out.file.Glob {
		s.Found.Temporary[text] = true
	}
	at, ok := s.FileAt(out.file)
	if n := out.redirect.N; s.Quiet || n != nil && n.Value != "1" {
		return
	}
	s.Owns(out.file)
	plain := *st
	plain.Redirs = nil
	for _, r := range st.Redirs {
		if r != out.redirect {
			plain.Redirs = append(plain.Redirs, r)
		}
	}
	printed := s.output(&plain)
	own := s.quietly().stmtOrigin(&plain) == argv.OriginOwn
	if own || printed.Known && strings.TrimSpace(printed.Text) == "" {
		s.numbers(out.file)
	}
	if !ok {
		return
	}
	s.patched(at, &plain)
	if !printed.Known {
		if own {
			s.Found.Pids[at] = s.Found.Version(at)
		}
		s.Vars[fileVariable(at)] = Variable{Values: []string{"", strconv.Itoa(s.Found.Version(at))}, origin: s.quietly().stmtOrigin(&plain)}
		return
	}
	s.Vars[fileVariable(at)] = Variable{Values: []string{printed.Text, strconv.Itoa(s.Found.Version(at))}, array: true, Known: true}
}

// Content is what a file holds, where the line itself has shown all of it and
// nothing since may have changed it.
func (s *Shell) Content(f argv.Field) (string, bool) {
	at, ok := s.FileAt(f)
	v := s.Vars[fileVariable(at)]
	if !ok || s.Wild || s.Found.Scatters || s.Found.Places || s.Found.Linked || !v.Known || v.Values[1] != strconv.Itoa(s.Found.Version(at)) {
		return "", false
	}
	s.Found.Relied[at] = s.Found.Filled(at)
	return v.Values[0], true
}

// contentOrigin is where the content of a file comes from that the line has written.
func (s *Shell) contentOrigin(f argv.Field) argv.Origin {
	at, ok := s.FileAt(f)
	v := s.Vars[fileVariable(at)]
	if !ok || s.Wild || s.Found.Scatters || s.Found.Linked || s.Found.Beside && s.Found.Writes[at] != 1 || v.Known || len(v.Values) < 2 || v.Values[1] != strconv.Itoa(s.Found.Version(at)) {
		return argv.OriginAny
	}
	return v.origin
}

// TempFile is the path of a file in a folder for temporary files. Numbers and the
// like in its name stand as "*".
func (s *Shell) TempFile(f argv.Field) (string, bool) {
	text, known := argv.Atoms(f)
	if !known {
		text, known = argv.Pattern(f)
	}
	if !known || f.Stdin || s.Remote || strings.Contains(text, "..") || !strings.HasPrefix(text, "/tmp/") || strings.HasSuffix(text, "/") {
		return "", false
	}
	return path.Clean(text), true
}

// Leads notes a link that the line makes: by its name, and in the folder that the name
// may be one of. Where either is not certain, no later write of the line is.
func (s *Shell) Leads(link, to argv.Field) {
	if s.Quiet {
		return
	}
	at, ok := s.FileAt(link)
	text, known := s.Found.ExpandTilde(to.Text, false)
	if !ok || !to.Sure() || !link.Sure() || !known || to.Glob || len(s.Dirs) != 1 || len(s.Found.Links) > 0 && strings.Contains(text, "..") || !path.IsAbs(text) && strings.Contains(strings.TrimSuffix(link.Text, "/"), "/") {
		s.Found.Astray = true
		return
	}
	if s.Found.Links == nil {
		s.Found.Links = make(map[string]string)
	}
	target := collect.JoinAny(s.Dirs[0], text)
	if before, again := s.Found.Links[at]; again && before != target {
		s.Found.Astray = true
	}
	s.Found.Links[at] = target
	s.Found.Links[path.Join(at, collect.FileKey(path.Base(target)))] = target
}

// maxLinks bounds how many links one name is followed through.
const maxLinks = 16

// led is where a file lies that is named by way of links which the line has made; empty
// for others.
func (s *Shell) led(f argv.Field) string {
	at, ok := s.FileAt(f)
	if !ok {
		return ""
	}
	to := ""
	for range maxLinks {
		next := ""
		for link, target := range s.Found.Links {
			if rest, below := strings.CutPrefix(at, link); below && (rest == "" || rest[0] == '/') && path.Clean(target+rest) != to && (next == "" || s.Found.Inside(next)) {
				next = path.Clean(target + rest)
			}
		}
		if next == "" {
			return to
		}
		to, at = next, collect.FileKey(next)
		if !s.Found.Inside(to) {
			return to
		}
	}
	s.Found.Astray = true
	return to
}

// ledBelow is where something lies that is deleted by way of a link which the line has
// made; empty for others, and for the link itself.
func (s *Shell) ledBelow(f argv.Field) string {
	if strings.HasSuffix(f.Text, "/") {
		return s.led(f)
	}
	dir, base := path.Split(f.Text)
	f.Text, f.Glob = strings.TrimSuffix(dir, "/"), false
	if to := s.led(f); dir != "" && to != "" {
		return path.Join(to, base)
	}
	return ""
}

// Pours does a write of what a program prints, copies or makes: nothing is moved to the
// file by it, so that nothing else is lost with a file for temporary use.
func (s *Shell) Pours(f argv.Field, write func()) {
	text, ok := s.TempFile(f)
	at := collect.FileKey(text)
	before := s.Found.Version(at)
	write()
	if ok && !s.Quiet && s.Found.Poured[at] == before {
		s.Found.Poured[at] = s.Found.Version(at)
	}
}

// Owns notes that the line has just decided all that a file holds.
func (s *Shell) Owns(f argv.Field) {
	if at, from, ok := s.standsAt(f); ok && !s.Quiet && len(f.Assumed) == 0 && !s.Found.Linked {
		s.Found.Own[at] = collect.Whole{Version: s.Found.Version(at), Branches: s.branches, From: from}
	}
}

// standsAt is FileAt, and also where a file lies in the likeliest of several folders.
func (s *Shell) standsAt(f argv.Field) (at, from string, ok bool) {
	if at, ok = s.FileAt(f); ok || !f.Known() || f.Glob || f.Stdin || s.Remote || f.Text == "" || len(s.Dirs) < 2 || collect.LeadsOut(f.Text) {
		return at, "", ok
	}
	return collect.FileKey(collect.JoinDir(s.Dirs[0], f.Text)), strings.Join(s.Dirs, "\n"), true
}

// OwnsPerhaps is Owns for a command that may fail, and leave what was there.
func (s *Shell) OwnsPerhaps(f argv.Field) {
	s.Owns(f)
	if at, _, ok := s.standsAt(f); ok && !s.Quiet {
		if w, own := s.Found.Own[at]; own {
			w.Unsure = true
			s.Found.Own[at] = w
		}
	}
}

// HasWritten reports whether a file is there, with what the line has put into it.
func (s *Shell) HasWritten(f argv.Field) bool {
	return s.owned(f)
}

// MakesFolder notes that the line has just made a folder for temporary files.
func (s *Shell) MakesFolder(f argv.Field) {
	if at, ok := s.own(f); ok && !f.Known() && !f.Glob && !s.Quiet {
		s.Found.Outputs[at] = collect.Whole{Branches: s.branches, From: makes}
	}
	if at, ok := s.TempFile(f); ok && f.Sure() && !f.Glob && !s.Quiet && scratchFolder.MatchString(at) {
		s.Found.Own[collect.FileKey(at)+"/"] = collect.Whole{Branches: s.branches}
	}
}

// Claims notes what a program was told to write, in a folder for temporary files: it is the
// line's own from then on, unless the line has named it before, or its name says that it is
// kept for somebody.
func (s *Shell) Claims(f argv.Field, words []argv.Field) {
	at, ok := s.own(f)
	if !ok || s.Quiet || f.Glob || !scratchFolder.MatchString(strings.ReplaceAll(at, "$", "")) || keptName.MatchString(at) {
		return
	}
	if _, before := s.Found.Outputs[at]; before || slices.ContainsFunc(words, func(w argv.Field) bool { return wordlist.Has(writesNothing, w.Text) }) {
		return
	}
	line := argv.Join(words, " ")
	for _, c := range s.Found.Facts.Commands {
		if before := strings.Join(c.Argv, " "); strings.Contains(before, at) && !strings.HasSuffix(before, line) {
			return
		}
	}
	for _, p := range s.Found.Facts.Paths {
		if p.Access == collect.AccessRead && strings.HasPrefix(p.Clean, at) {
			return
		}
	}
	s.Found.Outputs[at] = collect.Whole{Branches: s.branches}
}

// makes marks a folder that the line has made by the number of its shell: nothing was
// there before.
const makes = "made"

// writesNothing are options with which a program says something of itself, or of what it
// would do, and leaves the files that it is told to write as they are.
const writesNothing = "--help -help -h --version -version -V --showConfig --dry-run --listTests --list-tests --collect-only --print-config"

// putsOut reports whether what a program was told to write is deleted, and nothing else: a
// single file that was written wherever it is deleted; a folder where the line stops if the
// program fails, and nothing of the line may have put there what lay elsewhere.
func (s *Shell) putsOut(at string) bool {
	w, ok := s.Found.Outputs[at]
	switch {
	case !ok || !strings.HasPrefix(s.branches, w.Branches):
		return false
	case slices.ContainsFunc(s.Found.Facts.Commands, func(c holdgate.Command) bool { return c.Program == "mv" }):
		return false
	case s.Found.Single:
		return true
	}
	return (w.From == makes || s.stops() && s.Certain(lazyregexp.New(regexp.QuoteMeta(at)), copyGone)) && !slices.ContainsFunc(s.Found.Facts.Commands, func(c holdgate.Command) bool {
		return wordlist.Has("rsync install split csplit tar unzip ln", c.Program) || c.Program == "cp" && w.From != makes || c.Program == "git" && slices.ContainsFunc(c.Argv, func(t string) bool { return wordlist.Has("worktree mv clone init submodule", t) })
	})
}

// own is the name of a file or folder in a folder for temporary files of which only the
// number of the shell itself is not known.
func (s *Shell) own(f argv.Field) (string, bool) {
	at, ok := s.TempFile(f)
	if !ok || f.Known() {
		return at, ok
	}
	return f.Text, !slices.ContainsFunc(f.Dynamic, func(d string) bool { return d != "$$" && d != "${$}" })
}

// keptName is a name of what somebody has kept.
var keptName = lazyregexp.New(`(?i)back-?up|bak\b|sav(e|ed)\b|keep|prod|archiv|secret|dump|orig|upload|snapshot|\bdata\b|\bdb\b|home|\bmnt|shared|mail|/(systemd|snap\.|ssh-|\.|tmux|screen|runtime)`)

// madeFolder reports whether the line has made a folder, wherever it is deleted.
func (s *Shell) madeFolder(at string) bool {
	w, ok := s.Found.Own[collect.FileKey(at)+"/"]
	return ok && s.stops() && strings.HasPrefix(s.branches, w.Branches) && s.Certain(folderMade, copyGone)
}

// stops reports whether nothing in the text lets it go on where a command of it fails, but
// for what [Shell.Certain] looks at.
func (s *Shell) stops() bool {
	return !s.Found.Beside && !mayGoOn.MatchString(s.Src) && !strings.Contains(strings.NewReplacer("&&", "", ">&", "", "&>", "").Replace(s.Src), "&") &&
		!(givesUp.MatchString(s.Src) && strings.Contains(s.Src, "&&"))
}

// mayGoOn is in a text that may go on where a command of it fails: a condition, a
// negation, an alternative, a substitution.
var mayGoOn = lazyregexp.New("!|\\|\\||\\$\\(|`|[<>]\\(|\\b(if|while|until|case|trap|eval|command|function)\\b|\\(\\)|set \\+")

// scratchFolder is a folder for temporary files, by its name: nothing hidden.
var scratchFolder = lazyregexp.New(`^/tmp/[\w-][\w.-]*(/[\w-][\w.-]*)*$`)

// owned reports whether what a file holds is what the line has put there: then nothing is
// lost with it that was not lost before. It was written wherever it is deleted.
func (s *Shell) owned(f argv.Field) bool {
	at, from, ok := s.standsAt(f)
	w, own := s.Found.Own[at]
	return ok && own && !w.Unsure && w.From == from && w.Version == s.Found.Version(at) && strings.HasPrefix(s.branches, w.Branches)
}

// put reports whether what a single file holds is what the line has put there, unless a
// command of it failed.
func (s *Shell) put(f argv.Field) bool {
	at, from, ok := s.standsAt(f)
	w, own := s.Found.Own[at]
	return ok && own && w.From == from && s.Found.Single && w.Version == s.Found.Version(at) && strings.HasPrefix(s.branches, w.Branches)
}

// mktempName begins what mktemp prints, where that is not told otherwise: a file or
// a folder that was not there before.
const mktempName = "/tmp/tmp.XXXXXXXXXX"

// ownTemporary reports whether what is deleted was for temporary use: what mktemp has
// made, single files that the line has written, and a single file in /tmp by its name,
// but for one that the line may have moved there.
func (s *Shell) ownTemporary(f argv.Field) bool {
	if at, ok := s.FileAt(f); ok && s.Found.Single && s.Found.Copies[at] && s.Certain(copyMade, copyGone) {
		return true
	}
	if s.Found.Single && s.owned(f) {
		return true
	}
	if at, ok := s.own(f); ok && !f.Glob && s.putsOut(at) {
		return true
	}
	at, ok := s.TempFile(f)
	switch {
	case !ok:
		return false
	case !s.Found.Single && f.Sure() && !f.Glob && !s.Found.Linked && s.madeFolder(at):
		return true
	case f.Glob && !(s.Found.Single && f.Known()):
		return false
	case !f.Glob && at == mktempName, strings.HasPrefix(at, mktempName+"/"), strings.HasPrefix(at, mktempName+"."), s.Found.Temporary[at] && (s.Found.Single || path.Ext(at) != "" && (f.Known() || f.Origin >= argv.OriginAtom)):
		return true
	}
	if s.Found.Single && f.Known() && f.Glob {
		return scratchPattern.MatchString(at) && slices.ContainsFunc(slices.Collect(maps.Keys(s.Found.Temporary)), func(made string) bool {
			return collect.GlobMatch(at, made) || collect.GlobMatch(at, strings.ReplaceAll(made, "*", "x"))
		})
	}
	key := collect.FileKey(at)
	return s.Found.Single && f.Known() && s.Found.Version(key) == s.Found.Poured[key] && scratchFile.MatchString(at)
}

var (
	copyMade   = lazyregexp.New(`\b(cp|sed|install)\b`)
	folderMade = lazyregexp.New(`\bmkdir\b`)
	copyGone   = lazyregexp.New(`\b(rm|unlink)\b`)
)

// CopyLasts reports whether what is removed behind a copy is removed only where the copy
// was made.
func (s *Shell) CopyLasts() bool { return s.Certain(copyMade, copyGone) }

// Certain reports whether the text gives up where a command fails, before the last
// of those that a pattern finds: what stands there runs only where the first did.
func (s *Shell) Certain(first, last *lazyregexp.Regexp) bool {
	if givesUp.MatchString(s.Src) {
		return true
	}
	from, to := first.FindStringIndex(s.Src), last.FindAllStringIndex(s.Src, -1)
	return from != nil && len(to) > 0 && from[1] <= to[len(to)-1][0] && !strings.ContainsAny(s.Src[from[1]:to[len(to)-1][0]], ";\n|")
}

// givesUp is a text that ends where a command fails, from its beginning on.
var givesUp = lazyregexp.New(`^(#[^\n]*\n|\s)*set -[a-z]*e`)

// Besides notes a copy that is put beside a file, under its name with another end.
func (s *Shell) Besides(file, end string) {
	if !copyEnd.MatchString(end) {
		return
	}
	if at, ok := s.FileAt(argv.Field{Text: file + end}); ok && !s.Quiet {
		if s.Found.Copies == nil {
			s.Found.Copies = make(map[string]bool)
		}
		s.Found.Copies[at] = true
	}
}

// copyEnd is what copies for a while end in.
var copyEnd = lazyregexp.New(`^(\.(bak|orig|old|tmp|save|backup|before|prev)|~)$`)

// scratchFile is a file for temporary use, by its name: no socket, and nothing hidden.
var scratchFile = lazyregexp.New(`^/tmp/([\w-][\w.-]*/){0,2}[\w-][\w.-]*\.(txt|json|jsonl|log|py|js|mjs|ts|go|sh|sql|db|csv|tsv|md|html|xml|ya?ml|out|tmp|png|patch|diff|bak|rb|c|java|rs|toml|conf|zip|tgz|gz|stamp|pid|done|err|prof|pprof|cov|lst|list|ndjson|har|svg|jpe?g|gif|webp|pdf|mjs|tsx)$`)

// scratchPattern are several such files, by the beginning of their names.
var scratchPattern = lazyregexp.New(`^/tmp/([\w-]+/)?[\w-]{3,}[\w.*-]*\.(txt|json|jsonl|log|out|tmp|csv|tsv|xml|html|md|png)$`)

// deletesSingly reports whether a command deletes no folders.
func (in Invocation) deletesSingly() bool {
	return wordlist.Has("rm unlink", in.Name()) && len(in.Roots) == 0 && !slices.ContainsFunc(in.Words[1:], func(f argv.Field) bool {
		return !f.Known() && !scratchNamed(f) || strings.HasPrefix(f.Text, "--") && f.Text != "--force" && f.Text != "--" || strings.HasPrefix(f.Text, "-") && strings.ContainsAny(f.Text, "rRd")
	})
}

// scratchNamed reports whether a word is one file for temporary use, whatever its parts are
// that depend on run time.
func scratchNamed(f argv.Field) bool {
	text, ok := argv.Pattern(f)
	return ok && !f.Bare && !f.Glob && strings.HasPrefix(text, "/tmp/")
}

// scriptOf is a command that runs a file of which the line has shown the content,
// with the interpreter that the file names before it.
func (s *Shell) scriptOf(in Invocation) (Invocation, bool) {
	w := in.Words[0]
	if !strings.Contains(w.Text, "/") {
		return in, false
	}
	text, ok := s.Content(w)
	line, _, _ := strings.Cut(text, "\n")
	program, ok2 := strings.CutPrefix(strings.TrimSpace(line), "#!")
	words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(program), "/usr/bin/env "))
	if !ok || !ok2 || len(words) != 1 || !wordlist.Has("bash sh dash zsh python python3 node", path.Base(words[0])) {
		return in, false
	}
	next := in
	next.Words = append([]argv.Field{{Text: path.Base(words[0])}}, in.Words...)
	next.Plain = true
	return next, true
}
