package programs

import (
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

// why says why a command is not known in full: of what it hangs on, of which the first
// are words of the line, and of code that its words hold and that no reader takes.
func why(s *shell.Shell, in shell.Invocation, c *holdgate.Command, words int) []string {
	var out []string
	for i, u := range c.Unresolved {
		switch reasons, read := s.Found.Why[u]; {
		case read:
			out = append(out, reasons...)
		case wordlist.Has(shells, in.Name()) || in.Name() == "" || takesProgram(in.Name()):
			out = append(out, holdgate.ReasonComputedCode)
		case i >= words && !slices.Contains(s.Found.Changed, u):
			out = append(out, holdgate.ReasonUnread)
		case u == "stdin", u == "{}", plainPart.MatchString(u), strings.HasSuffix(u, " code"), partOfText.MatchString(u), printedText(u):
			out = append(out, holdgate.ReasonDynamicName)
		default: // what a command prints, or a text that is made of parts
			out = append(out, holdgate.ReasonComputedCode)
		}
	}
	for _, u := range c.Unbound {
		language := extensions[strings.ToLower(path.Ext(u))]
		if text, ok := s.Content(argv.Field{Text: u}); ok && language != "" && s.Found.Why[u] == nil {
			s.Found.Explain(u, suspects(s, language, text, suspect.Options{}))
		} else if !ok && variablePath.MatchString(u) {
			s.Found.Explain(u, []string{holdgate.ReasonDynamicName})
		}
	}
	if language, text, ok := heldText(s, in); ok {
		out = append(out, suspects(s, language, text, suspect.Options{Records: wordlist.Has(applications, in.Name())})...)
	}
	return wordlist.Unique(out)
}

var (
	// plainPart is a variable, as a loop sets it.
	plainPart = lazyregexp.New(`^\$(\{[A-Za-z_]\w*\}|[A-Za-z_]\w*)$`)
	// partOfText is what a variable holds, less or with other text in the place of some of it.
	partOfText = lazyregexp.New(`^\$\{([A-Za-z_]\w*(#|%|/|\^|,|:[0-9])[^$` + "`" + `({]*|[@*]:[0-9]+)\}$`)
	// variablePath is a file or a folder that a variable names, or one below.
	variablePath = lazyregexp.New(`^\$(\{[A-Za-z_]\w*\}|[A-Za-z_]\w*)(/[\w-]+(\.\w+)*)*/?$`)
)

// printedText reports whether a word is what commands print, which are judged by themselves.
func printedText(u string) bool {
	return strings.HasPrefix(u, "$(") && !strings.HasPrefix(u, "$((") && strings.HasSuffix(u, ")")
}

// shells run what they read.
const shells = "sh bash dash zsh ksh ash fish eval . source csh tcsh xargs parallel ssh"

// takesProgram reports whether the first word of a program is code.
func takesProgram(name string) bool {
	ip, ok := findInterpreter(name)
	return ok && ip.program
}

// applications are programs that run code within an application.
const applications = "rails mix manage.py django-admin"

// heldText is the code among the words of a program, or on its standard input, that
// runs within an application or in a language with no reader.
func heldText(s *shell.Shell, in shell.Invocation) (language, text string, ok bool) {
	words := in.Words[1:]
	code := func(options string) (string, bool) {
		for i, w := range words[:max(0, len(words)-1)] {
			if wordlist.Has(options, w.Text) {
				return words[i+1].Text, words[i+1].Known()
			}
		}
		return "", false
	}
	has := func(word string) bool {
		return slices.ContainsFunc(words, func(w argv.Field) bool { return w.Text == word })
	}
	switch name := in.Name(); {
	case name == "mix" && has("run"):
		text, ok = code("-e --eval")
		return "elixir", text, ok
	case name == "rails" && (has("runner") || has("r")):
		if last := words[len(words)-1]; !strings.HasSuffix(last.Text, ".rb") && last.Text != "-" {
			return "ruby", last.Text, last.Known()
		}
	case name == "swift":
		text, ok = code("-e")
		return "swift", text, ok
	case wordlist.Has("python python3 manage.py", name) && has("shell") && s.Stdin.Kind == "heredoc":
		return "python", s.Stdin.Text, s.Stdin.Known
	}
	return "", "", false
}

// suspects says why a program may not be taken for one that only computes.
func suspects(s *shell.Shell, language, code string, o suspect.Options) []string {
	s.Found.Work(1 + len(code)/8)
	s.Found.Acts = suspect.Acts(language, code)
	out := suspect.Of(language, code, o)
	for _, m := range codeStrings.FindAllStringSubmatch(code, 1000) {
		s.Found.Tick()
		out = append(out, named(s, m[1]+m[2])...)
	}
	if len(out) == 0 {
		out = append(out, holdgate.ReasonUnreadText)
	}
	return wordlist.Unique(out)
}

// named is what a text in a program says of it, where it names a file.
func named(s *shell.Shell, text string) []string {
	if text == "" || strings.ContainsAny(text, " \n\t") {
		return nil
	}
	switch collect.Classify(text, collect.AccessWrite) {
	case collect.ClassPersistence:
		return []string{holdgate.ReasonLater}
	case collect.ClassSecret:
		return []string{holdgate.ReasonCredential}
	}
	first, _, rooted := strings.Cut(strings.TrimPrefix(text, "/"), "/")
	switch {
	case strings.HasPrefix(text, "~"), strings.HasPrefix(text, "$HOME"), text == "..", strings.HasPrefix(text, "../"), strings.Contains(text, "/../"):
		return []string{holdgate.ReasonOutsidePath}
	case !strings.HasPrefix(text, "/"), s.Found.Inside(path.Clean(text)), text == "/dev/null", text == "/dev/stdin", text == "/dev/stdout", text == "/dev/stderr":
	case wordlist.Has("etc home root var opt srv boot dev proc sys mnt media users library run bin sbin lib usr", strings.ToLower(first)) && rooted:
		return []string{holdgate.ReasonOutsidePath}
	}
	return nil
}

// extensions are the languages of files, by the ends of their names.
var extensions = map[string]string{
	".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "tsx", ".rb": "ruby", ".lua": "lua", ".r": "r",
	".ex": "elixir", ".exs": "elixir", ".swift": "swift", ".kt": "kotlin", ".go": "go", ".java": "java", ".rs": "rust", ".zig": "zig",
	".c": "c", ".cc": "c", ".cpp": "c", ".cxx": "c", ".h": "c", ".hpp": "c",
}

// languageIn is the language of a program's code, for the names that it holds.
func languageIn(program, file string) string {
	if language := extensions[strings.ToLower(path.Ext(file))]; language != "" {
		return language
	}
	name := strings.ToLower(program)
	if wordlist.Has(suspect.Languages, name) {
		return name
	}
	return strings.TrimRight(name, "0123456789.-")
}

// unreadCode says why code that an interpreter is given was not read.
func unreadCode(s *shell.Shell, f argv.Field, c *holdgate.Command) []string {
	if !f.Known() {
		return []string{holdgate.ReasonComputedCode}
	}
	return suspectsOf(s, c, languageIn(c.Program, ""), f.Text)
}

// suspectsOf is what is said of code that was not read, with what its reader did not
// understand, where it has one that follows what variables hold.
func suspectsOf(s *shell.Shell, c *holdgate.Command, language, text string) []string {
	o := suspect.Options{Records: slices.ContainsFunc(c.Argv, func(w string) bool { return wordlist.Has(applications, path.Base(w)) })}
	if reader := languageOf(c); !wordlist.Has("python node bun deno tsx ts-node", reader) {
		return suspects(s, language, text, o)
	}
	if !s.Found.Followed {
		return wordlist.Unique(append(suspects(s, language, text, o), holdgate.ReasonUnparsed))
	}
	o.Followed, o.Unseen = true, s.Found.Unseen
	out := suspects(s, language, text, o)
	if slices.ContainsFunc(o.Unseen, func(u string) bool { return strings.HasPrefix(u, "the module ") }) {
		out = append(out, holdgate.ReasonUnknownLibrary)
	}
	return out
}

// unreadFile notes why a file that the line has written whole was not read.
func unreadFile(s *shell.Shell, c *holdgate.Command, file, text string) {
	s.Found.Explain(file, suspectsOf(s, c, languageIn(c.Program, file), text))
}

// compiled says why what a compiler makes of files that the line has written was not
// read. Nothing is known of it where it is made of others, too.
func compiled(s *shell.Shell, sources []string) ([]string, bool) {
	var out []string
	for _, source := range sources {
		text, known := s.Content(argv.Field{Text: source})
		switch {
		case known:
			out = append(out, suspects(s, languageIn("", source), text, suspect.Options{})...)
		case collect.LeadsOut(source), s.Remote, extensions[path.Ext(source)] == "":
			return nil, false
		case len(s.Dirs) == 0 || !s.Found.Project(collect.JoinAny(s.Dirs[0], source), false) || s.Found.Overwrites(collect.JoinAny(s.Dirs[0], source), false):
			return nil, false
		}
	}
	return wordlist.Unique(out), true
}
