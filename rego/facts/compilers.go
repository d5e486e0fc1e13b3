package facts

import "strings"

// goCommand is go, whose options take one dash or two. Some write files, and
// some name programs that it runs.
func goCommand(s *shell, in invocation, c *Command) {
	c.Unbound = append(c.Unbound, runsFiles("go", in.words[1:])...)
	s.dashed(in, c, map[string]string{
		"o": "write", "coverprofile": "write", "cpuprofile": "write", "memprofile": "write", "blockprofile": "write",
		"mutexprofile": "write", "trace": "write", "outputdir": "write", "pkgdir": "write",
		"exec": "run", "toolexec": "run", "vettool": "load", "overlay": "load", "modfile": "load",
	})
	s.mentions(in)
}

// compilerCommand is a C compiler, by the manuals of GCC and Clang.
func compilerCommand(s *shell, in invocation, c *Command) {
	s.dashed(in, c, map[string]string{
		"o": "write", "MF": "write", "dumpdir": "write",
		"wrapper": "run", "fplugin": "load", "specs": "load", "B": "load", "Xclang": "skip",
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
	words := in.words[1:]
	for i := 0; i < len(words); i++ {
		w := words[i]
		if len(w.text) < 2 || w.text[0] != '-' {
			continue
		}
		name, value, joined := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(w.text, "-"), "-"), "=")
		f := field{text: value, dynamic: w.dynamic}
		does := options[name]
		if does != "" && !joined && i+1 < len(words) {
			i++
			f = words[i]
		}
		if does == "" && c.Program != "go" && options[name[:min(1, len(name))]] == "write" { // -oFILE
			does, f = "write", field{text: w.text[2:], dynamic: w.dynamic}
		}
		switch does {
		case "write":
			s.use(in, f, accessWrite)
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
