package effects

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// addresses are the addresses that a command names, without their scheme and
// their query.
func (w *work) addresses(c command) (where []string) {
	for _, u := range w.facts.URLs {
		bare := trimmed(u)
		named := slices.ContainsFunc(c.Argv, func(word string) bool {
			return strings.Contains(word, bare) || u.Scheme == "ssh" && u.Host != "" && strings.Contains(strings.ToLower(word), u.Host)
		})
		if named && !slices.Contains(where, bare) {
			where = append(where, bare)
		}
	}
	return slices.DeleteFunc(slices.Clone(where), func(bare string) bool { // the same host with a port says more
		return slices.ContainsFunc(where, func(w string) bool { return strings.HasPrefix(w, bare+":") })
	})
}

func trimmed(u holdgate.URL) string {
	_, rest, ok := strings.Cut(u.URL, "://")
	if !ok {
		rest = u.URL
	}
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "#")
	if _, host, ok := strings.Cut(rest, "@"); ok && !strings.Contains(host, "@") && strings.HasPrefix(rest, "***") {
		rest = host
	}
	return strings.TrimSuffix(rest, "/")
}

// A source is the command of a call that brings what another one runs, and from
// where; the zero source is none.
type source struct {
	command int
	where   string
}

// fetches finds what brings what a command runs: the command that names the file,
// or else, where it reads a pipe or a substitution, the one that reaches the
// network.
func (w *work) fetches(c command) source {
	if len(c.Unresolved) == 0 && len(c.Unbound) == 0 {
		return source{}
	}
	runs := slices.Contains([]string{"", "script", "pass", "build", "project"}, c.Class)
	reads := runs && slices.ContainsFunc(c.Unresolved, func(u string) bool { return u == "stdin" || strings.ContainsAny(u, "(`") })
	for _, other := range w.commands {
		if other.Class != "network" && other.Class != "install" && other.Class != "remote" || len(other.at) == 0 || other.index == c.index {
			continue
		}
		if own := slices.Contains(other.Via, c.Program) && other.hands(); reads && !own && (c.Stdin != "heredoc" || slices.Contains(other.Via, "$()")) { // else the code stands in the call
			return source{other.index, other.at[0]}
		}
		for _, file := range c.Unbound {
			for _, a := range other.at {
				if path.Base(a) == path.Base(file) || slices.ContainsFunc(other.Argv[1:], func(word string) bool { return path.Clean(word) == path.Clean(file) }) {
					return source{other.index, a}
				}
			}
		}
	}
	return source{}
}

// brought adds the running of what the same call downloads.
func (w *work) brought(c command) bool {
	where := w.from[c.index].where
	if where == "" {
		return false
	}
	w.add(c, weighsLost+7, holdgate.Effect{Kind: holdgate.EffectRun, What: "download", Where: where, Undoable: holdgate.UndoableUnknown, Because: "code", Says: "Downloads " + quoted(where) + " and runs it"})
	return true
}

// isRun reports whether what a command downloads is run by another one.
func (w *work) isRun(c command) bool {
	return slices.ContainsFunc(w.from, func(s source) bool { return s.where != "" && s.command == c.index })
}

// sends are options by which programs of the network send what stands behind them.
var sends = lazyregexp.New(`^(-[a-zA-Z]*[dFT]|--(data|form|json|upload|post|body)[a-z-]*)(=.*)?$|^-[dFT].+`)

// method finds the method of a request in its words.
func method(argv []string) string {
	for i, word := range argv {
		if (word == "-X" || word == "--request" || word == "--method") && i+1 < len(argv) {
			return strings.ToUpper(argv[i+1])
		}
		if m, ok := strings.CutPrefix(word, "--request="); ok {
			return strings.ToUpper(m)
		}
		if m, ok := strings.CutPrefix(word, "--method="); ok {
			return strings.ToUpper(m)
		}
		if strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.HasSuffix(word, "X") && i+1 < len(argv) {
			return strings.ToUpper(argv[i+1])
		}
		if m := strings.TrimPrefix(word, "-X"); m != word && m != "" && m == strings.ToUpper(m) {
			return m
		}
		if i > 0 && i < 3 && slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}, word) {
			return word
		}
	}
	return ""
}

// hands reports whether a request hands something over, and is not made for what it brings.
func (c command) hands() bool {
	m := method(c.Argv)
	return m != "" && m != "GET" && m != "HEAD"
}

// by is the program of a request, with its method. The requests of other programs' code are
// told as curl's: it is theirs.
func (c command) by(m string) string {
	if n := len(c.Via); n > 0 && c.Program == "curl" && (strings.HasPrefix(c.Via[n-1], "python") || scripted[c.Via[n-1]]) {
		return spaced(c.Via[n-1], m)
	}
	return spaced(c.Program, m)
}

var scripted = wordSet("node nodejs deno bun tsx ts-node")

// network adds what a command fetches, or sends.
func (w *work) network(c command) {
	at, where := c.at, listing(c.at)
	if slices.Contains(w.shells, c.index) || w.lftp(c) {
		return
	}
	if where == "" {
		if w.stays(c) {
			return
		}
		where = c.somewhere()
	}
	e := holdgate.Effect{What: "host", Where: strings.Join(at, ", "), Undoable: holdgate.UndoableNo, Because: "sent"}
	m := method(c.Argv)
	files := w.sent(c)
	if says := mutation(c.Argv); says != "" {
		e.Kind, e.Undoable, e.Because, e.Says = holdgate.EffectChange, holdgate.UndoableUnknown, "remote", says+" at "+where
		w.add(c, weighsOutside+1, e)
		return
	}
	switch {
	case m == "DELETE":
		e.Kind, e.Says = holdgate.EffectDelete, "Deletes "+where+" ("+c.by("")+")"
		w.add(c, weighsOutside+5, e)
	case len(files) > 0:
		e.Kind, e.What, e.Says = holdgate.EffectSend, "file", "Sends "+listing(files)+" to "+where
		weight := weighsOutside - 2
		if w.secret() {
			e.Says, weight = e.Says+", and it holds secrets", weighsLost+4
		}
		if c.clears() {
			e.Kind, weight = holdgate.EffectDelete, max(weight, weighsLost)
			e.Says += ", and deletes there what is not here"
		}
		w.tells(c, files...)
		w.add(c, weight, e)
	case m == "PUT" || m == "PATCH":
		e.Kind, e.Undoable, e.Because, e.Says = holdgate.EffectChange, holdgate.UndoableUnknown, "remote", "Changes "+where+" ("+c.by(m)+")"
		weight := weighsOutside
		if w.secret() {
			e.Undoable, e.Because, e.Says, weight = holdgate.UndoableNo, "sent", e.Says+", beside secrets that the call reads", weighsLost+3
		}
		w.add(c, weight, e)
	case strings.Contains(c.Program, "mail") && len(c.mailed()) > 0:
		e.Kind, e.Says = holdgate.EffectSend, "Sends mail to "+listing(c.mailed())
		w.add(c, weighsSome+8, e)
	case m != "" && m != "GET" && m != "HEAD" && m != "OPTIONS", slices.ContainsFunc(c.Argv, sends.MatchString) && !c.has("-G", "--get"):
		e.Kind, e.Says = holdgate.EffectSend, "Sends data to "+where+" ("+c.by(m)+")"
		weight := weighsSome + 7
		if w.secret() {
			e.Says, weight = e.Says+", beside secrets that the call reads", weighsLost+3
		}
		w.add(c, weight, e)
	case c.piped() && w.secret():
		e.Kind, e.Says = holdgate.EffectSend, "Hands secrets to "+where+" ("+c.Program+")"
		w.add(c, weighsLost+3, e)
	case w.isRun(c):
	default:
		w.reaches(c, where, e)
	}
}

var graphQL = lazyregexp.New(`\bmutation\b[^{]*\{\s*(?:\w+\s*:\s*)?([A-Za-z]\w*)`)

// mutation says what a GraphQL mutation in the words of a command asks for.
func mutation(argv []string) string {
	for _, word := range argv {
		if m := graphQL.FindStringSubmatch(word); m != nil {
			_, says := toolPhrase("", m[1], nil)
			return says
		}
	}
	return ""
}

// reaches adds what a command fetches, or which connection it opens.
func (w *work) reaches(c command, where string, e holdgate.Effect) {
	a := c.act()
	e.Kind, e.Undoable, e.Because = holdgate.EffectFetch, holdgate.UndoableYes, "fetched"
	tunnel := slices.ContainsFunc(c.Argv, func(word string) bool {
		return len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.ContainsAny(word[1:2], "RLDw")
	})
	switch {
	case c.Program == "ssh" && tunnel:
		e.Undoable, e.Because = holdgate.UndoableUnknown, "network"
		e.Says = "Opens a tunnel through " + where + ": " + line(c.Argv)
	case len(c.at) > 0 && fetching[c.Program]:
		e.Says = "Fetches " + where
		if file := w.saved(c); file != "" {
			e.Kind, e.Undoable, e.Because, e.Says = holdgate.EffectWrite, holdgate.UndoableUnknown, "git", "Downloads "+where+" to "+quoted(file)
		}
	case a.verb != "" && !readVerbs[a.verb]:
		e = w.acts(c, "")
		e.Because = "remote"
		if a.verb == "sync" && c.clears() {
			e.Kind = holdgate.EffectDelete
			e.Says += ", and deletes there what is not here"
		}
		if e.Kind == holdgate.EffectDelete {
			e.Undoable = holdgate.UndoableNo
			w.add(c, weighsOutside+5, e)
			return
		}
		w.add(c, weighsSome+1, e)
		return
	case len(c.at) > 0 && c.web() && a.verb == "" && len(c.Subcommand) == 0:
		e.Says = "Fetches " + where
	default:
		e.Undoable, e.Because = holdgate.UndoableUnknown, "network"
		e.Says = "Reaches " + where + ": " + line(c.Argv)
	}
	w.add(c, weighsLittle+4, e)
}

// stays reports whether all that a command names are files of this machine, as a copy
// from one folder to another has it.
func (w *work) stays(c command) bool {
	writes := false
	for _, word := range c.Operands {
		i := slices.IndexFunc(w.facts.Paths, func(p holdgate.Path) bool { return p.Path == word })
		if i < 0 {
			return false
		}
		writes = writes || slices.ContainsFunc(w.facts.Paths, func(p holdgate.Path) bool { return p.Path == word && p.Access == "write" })
	}
	return writes
}

// clears reports whether an option says to delete at the other end what is not at this one.
func (c command) clears() bool {
	return slices.ContainsFunc(c.Argv, func(word string) bool { return word == "--delete" || strings.HasPrefix(word, "--delete-") })
}

// opens adds a shell that somebody elsewhere has the other end of: one that a program of
// the network starts, or whose streams lead to an address.
func (w *work) opens(c command) bool {
	if c.Class != "script" && c.Class != "" && c.Class != "unknown" && c.Class != "project" && c.Class != "build" || !isShell[c.Program] || slices.ContainsFunc(c.Argv[1:], func(word string) bool { return !strings.HasPrefix(word, "-") }) {
		return false
	}
	to := ""
	if len(c.Via) > 0 {
		via, _, _ := strings.Cut(c.Via[len(c.Via)-1], " ")
		i := slices.IndexFunc(w.commands, func(o command) bool { return o.Class == "network" && o.Program == via && o.index != c.index })
		if i < 0 {
			return false
		}
		to = "whoever connects"
		if o := w.commands[i]; len(o.at) > 0 && !o.listens() {
			to = "whoever is at " + listing(o.at[:1])
		}
		w.shells = append(w.shells, i)
	} else {
		i := slices.IndexFunc(w.facts.URLs, func(u holdgate.URL) bool {
			return (u.Scheme == "tcp" || u.Scheme == "udp") && !slices.ContainsFunc(w.commands, func(o command) bool { return slices.Contains(o.at, trimmed(u)) })
		})
		if i < 0 {
			return false
		}
		to = "whoever is at " + quoted(trimmed(w.facts.URLs[i]))
	}
	w.add(c, weighsLost+8, runs("shell", c, "Gives "+to+" a shell on this machine ("+c.Program+")"))
	return true
}

// isShell are the programs that read commands.
var isShell = wordSet("sh bash dash zsh ksh ash fish csh tcsh pwsh powershell cmd")

// listens reports whether a command waits for others to connect.
func (c command) listens() bool {
	return slices.ContainsFunc(c.Argv[1:], func(word string) bool {
		return shortWith(word, 'l') || word == "--listen" || strings.Contains(strings.ToUpper(word), "-LISTEN:")
	})
}

// fetching are programs that fetch what they are told the address of.
var fetching = wordSet("curl wget aria2c http https httpie xh fetch scp")

// web reports whether the command names an address of the web.
func (c command) web() bool {
	return slices.ContainsFunc(c.Argv, func(word string) bool { return strings.Contains(word, "://") })
}

// saved is the one file into which the call writes what it downloads, where that
// is an ordinary file of the project.
func (w *work) saved(c command) string {
	var written []holdgate.Path
	for _, p := range w.facts.Paths {
		if p.Access != "read" {
			written = append(written, p)
		}
	}
	others := slices.ContainsFunc(w.commands, func(o command) bool {
		return o.index != c.index && !slices.Contains([]string{"pass", "assign"}, o.Class)
	})
	if len(written) != 1 || written[0].Access != "write" || written[0].Class != "" || !written[0].Inside || others {
		return ""
	}
	w.tells(c, written[0].Path)
	return w.place(written[0])
}

// somewhere is where a command of the network goes that names no address of the
// usual form.
func (c command) somewhere() string {
	for _, o := range c.Operands {
		if strings.Contains(o, " ") {
			continue
		}
		if strings.Contains(o, ".") && strings.Contains(o, "/") || strings.Count(o, "/") > 1 {
			return quoted(strings.TrimSuffix(o, "/"))
		}
	}
	switch c.Program {
	case "gh":
		return "GitHub"
	case "glab":
		return "GitLab"
	}
	return "the network"
}

// mailed are the addresses of mail that a command names.
func (c command) mailed() []string {
	return slices.DeleteFunc(slices.Clone(c.Argv[1:]), func(word string) bool {
		name, host, ok := strings.Cut(word, "@")
		return !ok || name == "" || !strings.Contains(host, ".")
	})
}

func (c command) piped() bool { return c.Stdin == "pipe" }

// secret reports whether the call reads what holds secrets, or names one.
func (w *work) secret() bool {
	return len(w.facts.Secrets) > 0 || slices.ContainsFunc(w.commands, func(c command) bool { return c.Class == "secret" }) || slices.ContainsFunc(w.facts.Paths, func(p holdgate.Path) bool { return p.Access == "read" && p.Class == "secret" })
}

// sent are the files that a command sends: behind an @, or copied to a machine.
func (w *work) sent(c command) (files []string) {
	for _, p := range w.facts.Paths {
		if p.Access != "read" {
			continue
		}
		for i, word := range c.Argv {
			_, behind, at := strings.Cut(word, "@")
			upload := i > 0 && slices.Contains([]string{"-T", "--upload-file", "--post-file", "--body-file"}, c.Argv[i-1])
			if at && (behind == p.Path || strings.HasPrefix(behind, p.Path+";")) || word == p.Path && (upload || c.outward()) || strings.HasSuffix(word, "-file="+p.Path) {
				if n := w.place(p); !slices.Contains(files, n) {
					files = append(files, n)
				}
			}
		}
	}
	return files
}

// outward reports whether the last word of a copy names another machine.
func (c command) outward() bool {
	if len(c.Argv) < 3 {
		return false
	}
	host, rest, remote := strings.Cut(c.Argv[len(c.Argv)-1], ":")
	if strings.HasPrefix(host, "http") && strings.HasPrefix(rest, "//") { // what is beside it may be a text
		return false
	}
	return remote && host != "" && !strings.ContainsAny(host, "/=")
}
