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
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// goCommand is go, whose options take one dash or two. Some write files, and
// some name programs that it runs.
func goCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	if !goShown(s, in, c) {
		c.Unbound = append(c.Unbound, runsFiles("go", in.Words[1:])...)
	}
	goArguments(s, in, c)
	dashed(s, in, c, map[string]string{
		"o": "write", "coverprofile": "write", "cpuprofile": "write", "memprofile": "write", "blockprofile": "write",
		"mutexprofile": "write", "trace": "write", "outputdir": "write", "pkgdir": "write",
		"exec": "run", "toolexec": "run", "vettool": "load", "overlay": "load", "modfile": "load", "C": "load",
	})
	mentions(s, in)
}

// goShown reports whether go runs one file that the line has written, and all that
// it does could be seen.
func goShown(s *shell.Shell, in shell.Invocation, c *holdgate.Command) bool {
	if len(in.Words) < 3 || in.Words[1].Text != "run" || !strings.HasSuffix(in.Words[2].Text, ".go") {
		return false
	}
	if len(in.Words) > 3 && strings.HasSuffix(in.Words[3].Text, ".go") {
		return false
	}
	return readsFile(s, in.Words[2], c)
}

// sourceLanguages are the languages of what is compiled, by the end of a file's name.
var sourceLanguages = map[string]string{".rs": "rust", ".java": "java", ".zig": "zig"}

// plainCompile are options of rustc that change neither what a source says nor what is
// linked to it: all others may make another program of it (--extern, -C link-arg).
var plainCompile = lazyregexp.New(`^(-O|-g|--test|--edition=20\d\d|-C(opt-level|debuginfo)=\w|-A\w+)$`)

// plainly reports whether a compiler gets nothing but sources and such options.
func plainly(words []argv.Field) bool {
	for i := 0; i < len(words); i++ {
		w, next := words[i].Text, ""
		if i+1 < len(words) {
			next = words[i+1].Text
		}
		switch {
		case !words[i].Known(), w == "", w[0] == '@':
			return false
		case w == "-o", w == "--edition" && len(next) == 4, w == "-C" && plainCompile.MatchString("-C"+next):
			i++
		case w[0] == '-' && !plainCompile.MatchString(w):
			return false
		}
	}
	return true
}

// compiles reads the sources that a compiler gets and that the line has written:
// where all that they do could be seen, what is made of them has been shown.
func compiles(s *shell.Shell, in shell.Invocation) {
	plain := plainly(in.Words[1:])
	for _, w := range in.Words[1:] {
		language := sourceLanguages[path.Ext(w.Text)]
		if language == "" || strings.HasPrefix(w.Text, "-") {
			continue
		}
		at, _ := s.FileAt(w)
		var c holdgate.Command
		if text, ok := s.Content(w); plain && ok && readsAs(s, language, argv.Field{Text: text}, &c) {
			s.Found.Shown[at] = s.Found.Version(at)
		} else {
			delete(s.Found.Shown, at)
		}
	}
}

// sourceShown reports whether a program compiles and runs one file that the line has
// written, and all that it does could be seen.
func sourceShown(s *shell.Shell, in shell.Invocation, c *holdgate.Command) bool {
	words := in.Words[1:]
	switch {
	case in.Name() == "zig" && len(words) == 2 && wordlist.Has("run test", words[0].Text) && strings.HasSuffix(words[1].Text, ".zig"):
		words = words[1:]
	case in.Name() == "java" && len(words) > 0 && strings.HasSuffix(words[0].Text, ".java"):
	default:
		return false
	}
	return readsFile(s, words[0], c)
}

// goArguments notes modules that a workspace takes in, and follows Holdgate's own
// program where go runs it from its source.
func goArguments(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	words := in.Words[1:]
	if i := slices.IndexFunc(words, func(w argv.Field) bool { return w.Text == "tool" }); i >= 0 && goVerb(words) == "tool" {
		goTool(s, in, c, words[i+1:])
	}
	switch {
	case len(words) > 2 && words[0].Text == "work" && words[1].Text == "use":
		c.Unbound = append(c.Unbound, argv.Texts(argv.ParseOptions(words[2:], "", "").Operands)...)
	case len(words) > 1 && words[0].Text == "run":
		i := slices.IndexFunc(words[1:], func(w argv.Field) bool { return !strings.HasPrefix(w.Text, "-") }) + 1
		if name := path.Base(words[i].Text); i > 0 && name == "holdgate" {
			next := in.Under("go run")
			next.Words = append([]argv.Field{{Text: name}}, words[i+1:]...)
			s.Run(next)
		}
	}
}

// goVerb is the first word that go is given which is no option, nor the folder behind -C.
func goVerb(words []argv.Field) string {
	for i, w := range words {
		if !strings.HasPrefix(w.Text, "-") && (i == 0 || strings.TrimLeft(words[i-1].Text, "-") != "C") {
			return w.Text
		}
	}
	return ""
}

// goTool is go tool with these words. One of Go's own runs what it is given, another does
// what standard input says.
func goTool(s *shell.Shell, in shell.Invocation, c *holdgate.Command, words []argv.Field) {
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
	case words[0].Text == "pprof" && !printsProfile(words[1:]):
		c.Unresolved = append(c.Unresolved, "go tool pprof")
	case words[0].Text == "test2json":
		rest := words[1:]
		for len(rest) > 0 && wordlist.Has("-t -p", rest[0].Text) {
			rest = rest[min(len(rest), strings.Index("tp", rest[0].Text[1:])+1):]
		}
		if len(rest) == 0 {
			return
		}
		if strings.HasPrefix(rest[0].Text, "-") {
			c.Unresolved = append(c.Unresolved, "go tool test2json")
			return
		}
		next := in.Under("go tool test2json")
		next.Words = rest
		s.Run(next)
	}
}

// compilerCommand is a C compiler, by the manuals of GCC and Clang.
func compilerCommand(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	dashed(s, in, c, map[string]string{
		"o": "write", "MF": "write", "dumpdir": "write",
		"wrapper": "run", "fplugin": "load", "specs": "load", "B": "load", "fpass-plugin": "load", "plugin": "load", "load": "load", "config": "load",
	})
	for _, w := range in.Words[1:] {
		if strings.HasPrefix(w.Text, "@") {
			c.Unbound = append(c.Unbound, w.Text[1:])
		}
	}
	mentions(s, in)
}

// dashed reads options that take a value in the next word, or after "=", by
// what is done with it: "write", "run", "load", or "skip".
func dashed(s *shell.Shell, in shell.Invocation, c *holdgate.Command, options map[string]string) {
	words := slices.DeleteFunc(slices.Clone(in.Words[1:]), func(w argv.Field) bool { return w.Text == "-Xclang" })
	for i := 0; i < len(words); i++ {
		w := words[i]
		if options["B"] == "load" && strings.HasPrefix(w.Text, "-B/") {
			c.Unbound = append(c.Unbound, w.Text[2:])
		}
		if len(w.Text) < 2 || w.Text[0] != '-' {
			continue
		}
		name, value, joined := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(w.Text, "-"), "-"), "=")
		f := argv.Field{Text: value, Dynamic: w.Dynamic, Origin: w.Origin}
		does := options[name]
		if does != "" && !joined && i+1 < len(words) {
			i++
			f = words[i]
		}
		if does == "" && c.Program != "go" && options[name[:min(1, len(name))]] == "write" { // -oFILE
			does, f = "write", argv.Field{Text: w.Text[2:], Dynamic: w.Dynamic, Origin: w.Origin}
		}
		switch does {
		case "write":
			s.Pours(f, func() { use(s, in, f, collect.AccessWrite) })
			s.Claims(f, in.Words)
		case "run":
			run := f.Text
			if name == "wrapper" {
				run = strings.ReplaceAll(run, ",", " ")
			}
			s.CodeText(argv.Field{Text: run, Dynamic: f.Dynamic}, in.Under(c.Program+" -"+name))
		case "load":
			c.Unbound = append(c.Unbound, f.Text)
		}
	}
}
