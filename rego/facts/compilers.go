package facts

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// goCommand is go, whose options take one dash or two. Some write files, and
// some name programs that it runs.
func goCommand(s *shell, in invocation, c *Command) {
	if !s.goShown(in, c) {
		c.Unbound = append(c.Unbound, runsFiles("go", in.words[1:])...)
	}
	s.goArguments(in, c)
	s.dashed(in, c, map[string]string{
		"o": "write", "coverprofile": "write", "cpuprofile": "write", "memprofile": "write", "blockprofile": "write",
		"mutexprofile": "write", "trace": "write", "outputdir": "write", "pkgdir": "write",
		"exec": "run", "toolexec": "run", "vettool": "load", "overlay": "load", "modfile": "load", "C": "load",
	})
	s.mentions(in)
}

// goShown reports whether go runs one file that the line has written, and all that
// it does could be seen.
func (s *shell) goShown(in invocation, c *Command) bool {
	if len(in.words) < 3 || in.words[1].text != "run" || !strings.HasSuffix(in.words[2].text, ".go") {
		return false
	}
	if len(in.words) > 3 && strings.HasSuffix(in.words[3].text, ".go") {
		return false
	}
	return s.readsFile(in.words[2], c)
}

// sourceLanguages are the languages of what is compiled, by the end of a file's name.
var sourceLanguages = map[string]string{".rs": "rust", ".java": "java", ".zig": "zig"}

// plainCompile are options of rustc that change neither what a source says nor what is
// linked to it: all others may make another program of it (--extern, -C link-arg).
var plainCompile = regexp.MustCompile(`^(-O|-g|--test|--edition=20\d\d|-C(opt-level|debuginfo)=\w|-A\w+)$`)

// plainly reports whether a compiler gets nothing but sources and such options.
func plainly(words []field) bool {
	for i := 0; i < len(words); i++ {
		w, next := words[i].text, ""
		if i+1 < len(words) {
			next = words[i+1].text
		}
		switch {
		case !words[i].known(), w == "", w[0] == '@':
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
func (s *shell) compiles(in invocation) {
	plain := plainly(in.words[1:])
	for _, w := range in.words[1:] {
		language := sourceLanguages[path.Ext(w.text)]
		if language == "" || strings.HasPrefix(w.text, "-") {
			continue
		}
		at, _ := s.fileAt(w)
		var c Command
		if text, ok := s.content(w); plain && ok && s.readsAs(language, field{text: text}, &c) {
			s.x.Shown[at] = s.x.Version(at)
		} else {
			delete(s.x.Shown, at)
		}
	}
}

// sourceShown reports whether a program compiles and runs one file that the line has
// written, and all that it does could be seen.
func (s *shell) sourceShown(in invocation, c *Command) bool {
	words := in.words[1:]
	switch {
	case in.name() == "zig" && len(words) == 2 && wordlist.Has("run test", words[0].text) && strings.HasSuffix(words[1].text, ".zig"):
		words = words[1:]
	case in.name() == "java" && len(words) > 0 && strings.HasSuffix(words[0].text, ".java"):
	default:
		return false
	}
	return s.readsFile(words[0], c)
}

// goArguments notes modules that a workspace takes in, and follows Holdgate's own
// program where go runs it from its source.
func (s *shell) goArguments(in invocation, c *Command) {
	words := in.words[1:]
	switch {
	case len(words) > 2 && words[0].text == "work" && words[1].text == "use":
		c.Unbound = append(c.Unbound, texts(parseOptions(words[2:], "", "").operands)...)
	case len(words) > 1 && words[0].text == "run":
		i := slices.IndexFunc(words[1:], func(w field) bool { return !strings.HasPrefix(w.text, "-") }) + 1
		if name := path.Base(words[i].text); i > 0 && name == "holdgate" {
			next := in.under("go run")
			next.words = append([]field{{text: name}}, words[i+1:]...)
			s.run(next)
		}
	}
}

// compilerCommand is a C compiler, by the manuals of GCC and Clang.
func compilerCommand(s *shell, in invocation, c *Command) {
	s.dashed(in, c, map[string]string{
		"o": "write", "MF": "write", "dumpdir": "write",
		"wrapper": "run", "fplugin": "load", "specs": "load", "B": "load", "fpass-plugin": "load", "plugin": "load", "load": "load", "config": "load",
	})
	for _, w := range in.words[1:] {
		if strings.HasPrefix(w.text, "@") {
			c.Unbound = append(c.Unbound, w.text[1:])
		}
	}
	s.mentions(in)
}

// dashed reads options that take a value in the next word, or after "=", by
// what is done with it: "write", "run", "load", or "skip".
func (s *shell) dashed(in invocation, c *Command, options map[string]string) {
	words := slices.DeleteFunc(slices.Clone(in.words[1:]), func(w field) bool { return w.text == "-Xclang" })
	for i := 0; i < len(words); i++ {
		w := words[i]
		if options["B"] == "load" && strings.HasPrefix(w.text, "-B/") {
			c.Unbound = append(c.Unbound, w.text[2:])
		}
		if len(w.text) < 2 || w.text[0] != '-' {
			continue
		}
		name, value, joined := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(w.text, "-"), "-"), "=")
		f := field{text: value, dynamic: w.dynamic, origin: w.origin}
		does := options[name]
		if does != "" && !joined && i+1 < len(words) {
			i++
			f = words[i]
		}
		if does == "" && c.Program != "go" && options[name[:min(1, len(name))]] == "write" { // -oFILE
			does, f = "write", field{text: w.text[2:], dynamic: w.dynamic, origin: w.origin}
		}
		switch does {
		case "write":
			s.use(in, f, collect.AccessWrite)
		case "run":
			run := f.text
			if name == "wrapper" {
				run = strings.ReplaceAll(run, ",", " ")
			}
			s.codeText(field{text: run, dynamic: f.dynamic}, in.under(c.Program+" -"+name))
		case "load":
			c.Unbound = append(c.Unbound, f.text)
		}
	}
}
