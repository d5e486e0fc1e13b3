package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// A loop over the packages of a repository goes from folder to folder that git has named:
// for d in $(git diff --name-only | cut -d/ -f1-2 | sort -u); do (cd "$d" && npm test); done.
// Which these are is not known, and all lie inside of the session's folder.

// anyFolder is a folder below the session's that is not known.
const anyFolder = "/**"

// listsFolders reports whether each line that a statement prints is the name of a file that
// git lists of the repository, or the beginning of one up to a slash. The shell is a quiet one.
func (s *Shell) listsFolders(st *syntax.Stmt) bool {
	s.Found.Tick()
	if st.Background || st.Negated || !silences(st.Redirs) || s.Remote || len(s.Dirs) != 1 || s.Dirs[0] != s.Found.Start() {
		return false
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		words := s.fields(c.Args)
		if len(words) == 0 || len(c.Assigns) > 0 {
			return false
		}
		if body, in, ok := s.printedByFunction(words); ok {
			return in.listsFolders(body)
		}
		return words[0].Text == "git" && !s.overridden("git") && listsTracked(words[1:]) || words[0].Text == "dirname" && !s.overridden("dirname") && len(words) == 2 && (words[1].Within || words[1].Folder)
	case *syntax.BinaryCmd:
		call, ok := c.Y.Cmd.(*syntax.CallExpr)
		if c.Op != syntax.Pipe || !ok || !silences(c.Y.Redirs) || len(c.Y.Redirs) > 0 || !s.listsFolders(c.X) {
			return false
		}
		words := s.fields(call.Args)
		return len(words) > 0 && argv.AllKnown(words) && !s.overridden(words[0].Text) && (picksLines(words) || leavesFolders.MatchString(argv.Join(words, " ")))
	}
	return false
}

// leavesFolders are filters that leave the beginning of a path, up to a slash.
var leavesFolders = lazyregexp.New(`^(cut -d ?/ -f ?1(-[2-9]|,2)?|cut -f ?1(-[2-9]|,2)? -d ?/|xargs (-r )?(-n ?1 )?dirname|sed (-E )?(-e )?s([#|,@])/\[\^/\][*+]\$[#|,@]{2}|grep -o?E?o? \^\(?[\w-]+(\|[\w-]+)*\)?/\[\^/\](\+|\*)|awk -F ?/ \{ ?print ?\$1 ?"/" ?\$2 ?\})$`)

// listsTracked reports whether words of git list files of the repository by their names, which
// climb out of nothing.
func listsTracked(args []argv.Field) bool {
	if len(args) == 0 || !wordlist.Has("ls-files diff", args[0].Text) {
		return false
	}
	names := args[0].Text == "ls-files"
	for _, w := range args[1:] {
		switch {
		case w.Known() && w.Text == "--name-only":
			names = true
		case w.Known() && (wordlist.Has("-- -m -c -d -o --others --modified --cached --staged --deleted --exclude-standard --relative", w.Text) || strings.HasPrefix(w.Text, "--diff-filter=")):
		case w.Known() && !strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "/") && !strings.HasPrefix(w.Text, "~") && !strings.HasPrefix(w.Text, ".."):
		case !w.Known() && w.Origin >= argv.OriginValue && !w.Bare:
		default:
			return false
		}
	}
	return names
}

// substitutesFolder, processFolders and namesFolder say the same of what stands in a word.
func (s *Shell) substitutesFolder(c *syntax.CmdSubst) bool {
	return len(c.Stmts) == 1 && !s.Remote && s.quietly().listsFolders(c.Stmts[0]) && s.splitsAtBlanks()
}

func (s *Shell) processFolders(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	p, ok := w.Parts[0].(*syntax.ProcSubst)
	return ok && p.Op == syntax.CmdIn && len(p.Stmts) == 1 && s.quietly().listsFolders(p.Stmts[0])
}

func (s *Shell) namesFolder(p *syntax.ParamExp) bool {
	whole := *p
	if isAll(p.Index, "@", "*") {
		whole.Index = nil
	}
	return plainParam(&whole) && s.Vars[p.Param.Value].folder && s.splitsAtBlanks()
}

// GoesWithin reports whether cd, by a word, goes to a folder that git lists, below the one of
// the session.
func (s *Shell) GoesWithin(f argv.Field) bool {
	return f.Folder && !s.Remote && !s.Wild && len(s.Dirs) == 1 && s.Dirs[0] == s.Found.Start() && path.IsAbs(s.Dirs[0]) && !s.sets("CDPATH")
}

// leavesWhere reports whether a write from a folder that is not known may be to what runs by
// itself there: all but a file with a plain end.
func (s *Shell) leavesWhere(f argv.Field) bool {
	return slices.ContainsFunc(s.Dirs, func(d string) bool { return strings.Contains(d, anyFolder) }) && !strings.HasPrefix(f.Text, "/") && (strings.Contains(f.Text, "/") || !plainEnd(f))
}
