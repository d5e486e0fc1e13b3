package programs

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/snippet/suspect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// writesNoContent reports whether a program writes nothing that its words decide
// on: it makes folders and rights, or writes what it builds out of the files of
// the project.
func writesNoContent(name string) bool {
	_, tool := tools[name]
	return tool || wordlist.Has("mkdir touch chmod chown chgrp setfacl go cargo make cmake gcc g++ cc c++ clang clang++ rustc", name)
}

// scatters are programs that write files which the call does not name.
const scatters = "unzip tar bsdtar gtar 7z 7za cpio patch ar jar dpkg-deb rpm2cpio"

// bringers are programs that put files from elsewhere into the folder at hand, by
// their subcommands.
var bringers = map[string][]string{
	"gh": {"pr checkout", "pr co", "repo clone", "repo sync", "repo fork", "run download", "release download", "gist clone", "cs cp", "codespace cp"}, "hub": {"pr checkout", "clone", "sync", "pull", "merge", "am", "apply", "cherry-pick", "checkout"},
	"glab": {"mr checkout", "repo clone", "ci artifact", "job artifact", "release download"}, "tea": {"pulls checkout", "pr checkout", "clone"}, "svn": {"update", "up", "checkout", "co", "switch", "sw", "merge"},
	"hg": {"pull", "update", "clone", "import"}, "jj": {"git fetch", "git clone"}, "sl": {"pull", "goto", "clone"}, "dvc": {"pull", "get", "import", "update"}, "git-lfs": {"pull", "checkout"}, "repo": {"sync"}, "west": {"update"}, "fossil": {"update", "pull"},
}

// bringsFiles reports whether a command is one of them. Options before or among
// the subcommands do not hide it.
func bringsFiles(c holdgate.Command) bool {
	list := bringers[c.Program]
	if list == nil {
		return false
	}
	text := " " + strings.Join(c.Argv, " ") + " "
	return slices.ContainsFunc(list, func(verbs string) bool {
		first, second, two := strings.Cut(verbs, " ")
		return strings.Contains(text, " "+first+" ") && (!two || strings.Contains(text, " "+second+" "))
	})
}

// projectRuns are the files that a command runs and that lie in the session's
// folder: candidates for [Command.Project], which ownRuns decides on once all
// that the call writes is known.
func projectRuns(s *shell.Shell, c holdgate.Command) []collect.Run {
	if p := madeOf(s, c); p != "" && len(s.Dirs) > 0 && !s.Remote {
		s.Found.Made = append(s.Found.Made, collect.JoinAny(s.Dirs[0], p))
	}
	compilesWritten(s, c)
	s.Found.Scatters = s.Found.Scatters || wordlist.Has(scatters, strings.ToLower(c.Program)) || bringsFiles(c)
	var out []collect.Run
	for _, u := range c.Unbound {
		if r, ok := projectRun(s, u, c); ok {
			out = append(out, r)
		}
	}
	return out
}

// compilesWritten notes what a compiler makes of files that the line has written and that
// were not read: running it runs what nobody has judged, in the project too.
func compilesWritten(s *shell.Shell, c holdgate.Command) {
	buildsWritten(s, c)
	if !wordlist.Has("gcc g++ cc c++ clang clang++ tcc rustc as gas nasm yasm ld gold lld ld.lld ld.gold mold", c.Program) || len(s.Dirs) == 0 || s.Remote {
		return
	}
	made, written, sources := "a.out", false, []string(nil)
	for i := 1; i < len(c.Argv); i++ {
		switch w := c.Argv[i]; {
		case w == "-o" && i+1 < len(c.Argv):
			i++
			made = c.Argv[i]
		case strings.HasPrefix(w, "-o"):
			made = w[2:]
		case wordlist.Has("-I -L -D -U -isystem -iquote -idirafter -MF -MT -l -target", w):
			i++
		case !strings.HasPrefix(w, "-"):
			sources = append(sources, w)
			at := collect.JoinAny(s.Dirs[0], w)
			written = written || !shown(s, w) && (s.Found.Overwrites(at, false) || s.Found.Unread[at] || !s.Found.Project(at, false))
			if c.Program == "rustc" && made == "a.out" {
				made = strings.TrimSuffix(path.Base(w), ".rs")
			}
		}
	}
	at := collect.JoinAny(s.Dirs[0], made)
	if written {
		s.Found.Unread[at] = true
	}
	delete(s.Found.Compiled, collect.FileKey(at))
	if reasons, ok := compiled(s, sources); ok && len(c.Unresolved) == 0 {
		s.Found.Compiled[collect.FileKey(at)] = collect.Compiled{Reasons: reasons, Version: s.Found.Version(collect.FileKey(at))}
	}
}

// buildsWritten is compilesWritten for compilers that are given packages, or that name what
// they make by what it is made of.
func buildsWritten(s *shell.Shell, c holdgate.Command) {
	if len(s.Dirs) == 0 || s.Remote || len(c.Argv) < 2 {
		return
	}
	var made, sources []string
	option := ""
	switch {
	case c.Program == "go" && wordlist.Has("build install test", c.Argv[1]):
		option = "-o"
	case wordlist.Has("javac kotlinc scalac swiftc ghc ocamlfind ocamlopt nim crystal dmd ldc2 fpc zig v odin", c.Program):
		option = map[string]string{"javac": "-d", "kotlinc": "-d", "scalac": "-d"}[c.Program]
		if option == "" {
			option = "-o"
		}
	default:
		return
	}
	for i := 1; i < len(c.Argv); i++ {
		switch w := c.Argv[i]; {
		case (w == option || w == "-"+option) && i+1 < len(c.Argv):
			i++
			made = append(made, c.Argv[i])
		case strings.HasPrefix(w, option+"="), strings.HasPrefix(w, "-"+option+"="):
			_, name, _ := strings.Cut(w, "=")
			made = append(made, name)
		case strings.HasPrefix(w, "-"), c.Program == "go" && i == 1:
		case strings.ContainsAny(w, "./") && !moduleOfGo.MatchString(w) || c.Program != "go":
			sources = append(sources, strings.TrimSuffix(w, "/..."))
			base := strings.TrimSuffix(path.Base(w), path.Ext(w))
			switch {
			case c.Program != "go":
				made = append(made, base, path.Join(path.Dir(w), base))
			case c.Argv[1] != "test" && path.Clean(w) != base && base != "...": // a program is called as its folder, and lies here
				made = append(made, base)
			}
		}
	}
	if c.Program == "go" && len(sources) == 0 {
		sources = []string{"."}
		made = append(made, path.Base(s.Dirs[0]))
	}
	away := func(w string) bool {
		return strings.ContainsAny(w, "./") && !s.Found.Project(collect.JoinAny(s.Dirs[0], w), false)
	}
	if language := map[string]string{"go": "go", "javac": "java", "kotlinc": "kotlin", "swiftc": "swift", "zig": "zig"}[c.Program]; language != "" && len(s.Via) == 0 && !slices.ContainsFunc(sources, away) && len(suspect.Of(language, unquoted.Replace(s.Src), suspect.Options{})) == 0 {
		return // nothing that the line could have put into them acts
	}
	written := func(w string) bool {
		return s.Found.Overwrites(collect.JoinAny(s.Dirs[0], w), true) && !(c.Program == "go" && shown(s, w))
	}
	if !slices.ContainsFunc(sources, written) && !slices.ContainsFunc(sources, away) {
		return
	}
	for _, w := range made {
		s.Found.Unread[collect.JoinAny(s.Dirs[0], w)] = true
		for _, source := range sources { // -o bin/ makes bin/NAME
			s.Found.Unread[collect.JoinAny(s.Dirs[0], path.Join(w, path.Base(strings.TrimSuffix(source, path.Ext(source)))))] = true
		}
	}
}

// unquoted takes off the quotes in which a line has code.
var unquoted = strings.NewReplacer("'", " ", `"`, " ")

// moduleOfGo is an import path that begins with a host.
var moduleOfGo = lazyregexp.New(`^[\w-]+(\.[\w-]+)+/|@`)

func projectRun(s *shell.Shell, text string, c holdgate.Command) (collect.Run, bool) {
	r := collect.Run{Text: text, Below: c.Program == "go" && len(c.Argv) > 1 && c.Argv[1] == "run" || strings.HasPrefix(text, "node_modules/")}
	_, interprets := findInterpreter(c.Program)
	at := slices.Index(c.Argv, text)
	r.First = at == 0 || at > 0 && (interprets || wordlist.Has("sh bash dash zsh ksh fish source .", c.Program))
	f := s.Here(argv.Field{Text: text, Dynamic: hereParts(text)})
	p, known := s.Found.ExpandTilde(f.Text, s.Remote)
	if dir, base := path.Split(p); known && !path.IsAbs(p) && dir != "" && !collect.LeadsOut(p) && !strings.ContainsAny(dir, "*?[{") && plainPattern.MatchString(base) {
		p, r.Below = path.Clean(dir), true // each of the files that the pattern names
	}
	switch {
	case !known, p == "", p[0] == '-', strings.ContainsAny(strings.TrimPrefix(p, "*."), "$`*?[{=|&;<> \n"), strings.Contains(p, "://"):
		return r, false
	case schemed.MatchString(p):
		return r, false
	case c.Program == "go" && moduleOfGo.MatchString(p):
		return r, false
	case path.IsAbs(p):
		r.Clean = []string{path.Clean(p)}
		r.Away = !s.Found.Project(r.Clean[0], false)
		return r, !s.Remote
	case s.Remote || s.Lost && len(s.Dirs) == 0 && !s.Found.Left:
		return r, !collect.LeadsOut(p)
	}
	door := !strings.Contains(p, "/") // found by its name in the folder at hand
	dirs := s.Dirs
	if door {
		dirs = dirs[:min(1, len(dirs))] // a build that runs where a cd failed is no way to hide
	}
	for _, d := range dirs {
		clean := collect.JoinDir(d, p)
		r.Away = r.Away || !s.Found.Project(clean, door)
		r.Clean = append(r.Clean, clean)
	}
	if len(s.Dirs) == 0 {
		r.Clean = []string{path.Clean(p)}
		return r, s.Found.Project(r.Clean[0], door)
	}
	return r, true
}

// plainPattern is a pattern of files by the ends of their names.
var plainPattern = lazyregexp.New(`^[\w-]*\*[\w-]*\.\w+$`)

// schemed is a package of a registry, as in npm:chalk.
var schemed = lazyregexp.New(`^[a-z]+:`)

// hereParts is the part of a path that stands for the folder at hand.
func hereParts(text string) []string {
	for _, part := range []string{"$PWD", "${PWD}", "$(pwd)"} {
		if strings.HasPrefix(text, part) {
			return []string{part}
		}
	}
	return nil
}

// madeOf is the file or folder that a command makes out of the project alone: what
// it compiles, the folder it builds in, another working tree. It is empty for others.
func madeOf(s *shell.Shell, c holdgate.Command) string {
	option := map[string]string{"go": "-o", "cmake": "-B", "gcc": "-o", "g++": "-o", "cc": "-o", "c++": "-o", "clang": "-o", "clang++": "-o", "rustc": "-o"}[c.Program]
	tree := addsTree(c)
	if option == "" && !tree || len(c.Unresolved) > 0 {
		return ""
	}
	made := ""
	for i := 1; i < len(c.Argv); i++ {
		w := c.Argv[i]
		switch {
		case w == option && i+1 < len(c.Argv):
			i++
			made = c.Argv[i]
		case tree && wordlist.Has("-b -B --reason", w):
			i++
		case strings.HasPrefix(w, "-"):
		case tree && i > 2:
			return w
		case shown(s, w):
		case collect.LeadsOut(w) || moduleOfGo.MatchString(w):
			return ""
		}
	}
	return made
}

func addsTree(c holdgate.Command) bool {
	return c.Program == "git" && len(c.Argv) > 3 && c.Argv[1] == "worktree" && c.Argv[2] == "add"
}

var (
	treeAdded   = lazyregexp.New(`\bworktree add\b`)
	treeRemoved = lazyregexp.New(`\bworktree remove\b`)
)

// madeTree reports whether a word names a working tree that the line has added.
func madeTree(s *shell.Shell, f argv.Field) bool {
	if !f.Known() || s.Remote || len(s.Dirs) == 0 {
		return false
	}
	at := collect.JoinAny(s.Dirs[0], f.Text)
	if _, scratch := s.TempFile(f); !scratch && !s.Certain(treeAdded, treeRemoved) {
		return false // one that was there before stays where it can't be added
	}
	return slices.ContainsFunc(s.Found.Facts.Commands, func(c holdgate.Command) bool {
		made := madeOf(s, c)
		return addsTree(c) && made != "" && collect.JoinAny(cmp.Or(c.Dir, s.Found.Start()), made) == at
	})
}

// shown reports whether a compiler's operand is a source that the line has written,
// and that was read.
func shown(s *shell.Shell, word string) bool {
	at, ok := s.FileAt(argv.Field{Text: word})
	return ok && s.Found.WasShown(at)
}
