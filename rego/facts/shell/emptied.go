package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/operands"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// Content is what a command leaves in a file that its output replaces.
type Content uint8

const (
	ContentText    Content = iota // anything: as likely what the file is to hold
	ContentNothing                // nothing, or no end of noise
	ContentReport                 // what somebody looks at: a listing, a date, messages
)

// printing is what the programs print that have nothing to say, or nothing
// that a source file could hold.
const (
	silentPrograms = ": true false"
	reportPrograms = "ls dir vdir tree ps pstree top df du date cal whoami id who w uname uptime free hostname history wc stat lsof env printenv pwd which type groups last jobs"
	// endlessDevices never end.
	endlessDevices = "/dev/zero /dev/random /dev/urandom /dev/full"
	// EmptyDevices hold nothing, or what never ends: no content that a file is
	// to have.
	EmptyDevices = "/dev/null " + endlessDevices
)

// scratchNames begin or end the names of files that a run makes anew, and of
// markers that hold nothing; scratchFolders hold only such.
const (
	scratchNames   = "out output result results err error errors log tmp temp scratch"
	scratchEnds    = ".log .out .err .tmp .temp .pid .lock .stamp .done .cache"
	markers        = ".gitkeep .keep .gitignore .nojekyll __init__.py py.typed .touch .stamp"
	scratchFolders = "tmp temp build dist out target coverage logs log .cache node_modules __pycache__ obj .next .turbo testdata fixtures reports test-results"
)

// SourceEnds are the ends of names of files that people write, and no program
// prints.
const (
	SourceEnds  = ".go .ts .tsx .js .jsx .mjs .cjs .mts .cts .vue .svelte .astro .py .pyi .rb .php .java .kt .kts .scala .groovy .gradle .c .h .cc .cpp .cxx .hpp .cs .fs .vb .rs .swift .m .mm .dart .ex .exs .erl .hs .ml .clj .lua .pl .pm .r .jl .zig .nim .sol .sh .bash .zsh .fish .ps1 .sql .proto .graphql .gql .tf .rego .css .scss .sass .less .html .htm .xhtml .hbs .ejs .toml .mk .cmake .nix"
	sourceNames = "readme license changelog contributing makefile dockerfile jenkinsfile justfile rakefile gemfile procfile vagrantfile cmakelists package tsconfig composer"
)

// printed is what a statement prints, as far as its program tells.
func (s *Shell) printed(st *syntax.Stmt) Content {
	s.Found.Tick()
	switch c := st.Cmd.(type) {
	case nil:
		return ContentNothing
	case *syntax.CallExpr:
		return s.printedByCall(c)
	case *syntax.Block:
		return s.printedByAll(c.Stmts)
	case *syntax.Subshell:
		return s.printedByAll(c.Stmts)
	}
	return ContentText
}

// printedByAll is what a list prints: nothing where none of it prints.
func (s *Shell) printedByAll(list []*syntax.Stmt) Content {
	for i, st := range list {
		if got := s.printed(st); got != ContentNothing || len(st.Redirs) > 0 {
			if len(list) == 1 && i == 0 && len(st.Redirs) == 0 {
				return got
			}
			return ContentText
		}
	}
	return ContentNothing
}

func (s *Shell) printedByCall(c *syntax.CallExpr) Content {
	quiet := s.quietly()
	words := quiet.fields(c.Args)
	if len(words) == 0 {
		return ContentNothing
	}
	in := Invocation{Words: words}
	name := in.Name()
	if name == "" || s.overridden(words[0].Text) {
		return ContentText
	}
	args := words[1:]
	switch {
	case wordlist.Has(silentPrograms, name):
		return ContentNothing
	case name == "echo" || name == "printf":
		if text := strings.Trim(argv.Join(args, ""), "neE-"); text == "" && len(args) > 0 && argv.AllKnown(args) {
			return ContentNothing
		}
	case wordlist.Has(reportPrograms, name):
		return ContentReport
	case wordlist.Has(operands.Readers, name) || wordlist.Has("cat sort uniq awk gawk sed grep tr base64 gzip gunzip zcat iconv", name):
		return s.copied(name, args)
	}
	return ContentText
}

// copied is what a program prints that prints what it reads: nothing where it
// reads only devices that hold nothing.
func (s *Shell) copied(name string, args []argv.Field) Content {
	o := argv.ParseOptions(args, operands.Table()[name].Valued, operands.Table()[name].Long)
	files := o.Operands
	if wordlist.Has("awk gawk sed grep tr "+operands.PatternReaders, name) && len(files) > 0 && !o.Has("ef", "") {
		files = files[1:]
	}
	if n := o.Values("nc", ""); wordlist.Has("head tail", name) && len(n) > 0 && n[0].Text == "0" {
		return ContentNothing
	}
	if len(files) == 0 {
		if s.Stdin.Nothing() && !(name == "head" && wordlist.Has(endlessDevices, s.Stdin.File)) {
			return ContentNothing
		}
		return ContentText
	}
	for _, f := range files {
		if !f.Known() || !wordlist.Has(EmptyDevices, f.Text) || name == "head" && f.Text != "/dev/null" {
			return ContentText
		}
	}
	return ContentNothing
}

// Nothing reports whether there is nothing to be read.
func (st Stream) Nothing() bool {
	return wordlist.Has(EmptyDevices, st.File) || st.Kind != "" && st.Known && strings.TrimSpace(st.Text) == ""
}

// Replaces is how a file is touched whose content is replaced: it is deleted
// with it, where that is lost for nothing. A new file can't be told from one
// that was there but by its name: what runs make anew has names of its own.
func (s *Shell) Replaces(f argv.Field, c Content) string {
	if c == ContentNothing && !s.scratch(f) || c == ContentReport && isSource(f.Text) {
		return collect.AccessDelete
	}
	return collect.AccessWrite
}

// scratch reports whether a file is one that runs make anew, or one that is
// known at run time only.
func (s *Shell) scratch(f argv.Field) bool {
	text := strings.ToLower(f.Text)
	if !f.Known() || collect.HarmlessDevice(text) {
		return true
	}
	base := path.Base(text)
	stem, _, _ := strings.Cut(strings.TrimPrefix(base, "."), ".")
	first := stem
	if i := strings.IndexAny(stem, "-_0123456789"); i > 0 {
		first = stem[:i]
	}
	if wordlist.Has(markers, base) || wordlist.Has(scratchEnds, path.Ext(base)) || wordlist.Has(scratchNames, first) && !isSource(text) {
		return true
	}
	if path.IsAbs(text) {
		return strings.HasPrefix(path.Clean(text), "/tmp/") || strings.HasPrefix(path.Clean(text), "/var/tmp/") || strings.HasPrefix(path.Clean(text), "/dev/")
	}
	for segment := range strings.SplitSeq(path.Dir(path.Clean(text)), "/") {
		if wordlist.Has(scratchFolders, segment) {
			return true
		}
	}
	return len(s.Dirs) > 0 && strings.HasPrefix(s.Dirs[0]+"/", "/tmp/")
}

// isSource reports whether a file is one that people write, by its name.
func isSource(name string) bool {
	base := strings.ToLower(path.Base(name))
	stem, _, _ := strings.Cut(base, ".")
	return wordlist.Has(SourceEnds, path.Ext(base)) || wordlist.Has(sourceNames, stem)
}
