package facts

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// content is what a command leaves in a file that its output replaces.
type content uint8

const (
	contentText    content = iota // anything: as likely what the file is to hold
	contentNothing                // nothing, or no end of noise
	contentReport                 // what somebody looks at: a listing, a date, messages
)

// printing is what the programs print that have nothing to say, or nothing
// that a source file could hold.
const (
	silentPrograms = ": true false"
	reportPrograms = "ls dir vdir tree ps pstree top df du date cal whoami id who w uname uptime free hostname history wc stat lsof env printenv pwd which type groups last jobs"
	// endlessDevices never end.
	endlessDevices = "/dev/zero /dev/random /dev/urandom /dev/full"
	// emptyDevices hold nothing, or what never ends: no content that a file is
	// to have.
	emptyDevices = "/dev/null " + endlessDevices
)

// scratchNames begin or end the names of files that a run makes anew, and of
// markers that hold nothing; scratchFolders hold only such.
const (
	scratchNames   = "out output result results err error errors log tmp temp scratch"
	scratchEnds    = ".log .out .err .tmp .temp .pid .lock .stamp .done .cache"
	markers        = ".gitkeep .keep .gitignore .nojekyll __init__.py py.typed .touch .stamp"
	scratchFolders = "tmp temp build dist out target coverage logs log .cache node_modules __pycache__ obj .next .turbo testdata fixtures reports test-results"
)

// sourceEnds are the ends of names of files that people write, and no program
// prints.
const (
	sourceEnds  = ".go .ts .tsx .js .jsx .mjs .cjs .mts .cts .vue .svelte .astro .py .pyi .rb .php .java .kt .kts .scala .groovy .gradle .c .h .cc .cpp .cxx .hpp .cs .fs .vb .rs .swift .m .mm .dart .ex .exs .erl .hs .ml .clj .lua .pl .pm .r .jl .zig .nim .sol .sh .bash .zsh .fish .ps1 .sql .proto .graphql .gql .tf .rego .css .scss .sass .less .html .htm .xhtml .hbs .ejs .toml .mk .cmake .nix"
	sourceNames = "readme license changelog contributing makefile dockerfile jenkinsfile justfile rakefile gemfile procfile vagrantfile cmakelists package tsconfig composer"
)

// printed is what a statement prints, as far as its program tells.
func (s *shell) printed(st *syntax.Stmt) content {
	s.x.Tick()
	switch c := st.Cmd.(type) {
	case nil:
		return contentNothing
	case *syntax.CallExpr:
		return s.printedByCall(c)
	case *syntax.Block:
		return s.printedByAll(c.Stmts)
	case *syntax.Subshell:
		return s.printedByAll(c.Stmts)
	}
	return contentText
}

// printedByAll is what a list prints: nothing where none of it prints.
func (s *shell) printedByAll(list []*syntax.Stmt) content {
	for i, st := range list {
		if got := s.printed(st); got != contentNothing || len(st.Redirs) > 0 {
			if len(list) == 1 && i == 0 && len(st.Redirs) == 0 {
				return got
			}
			return contentText
		}
	}
	return contentNothing
}

func (s *shell) printedByCall(c *syntax.CallExpr) content {
	quiet := s.quietly()
	words := quiet.fields(c.Args)
	if len(words) == 0 {
		return contentNothing
	}
	in := invocation{words: words}
	name := in.name()
	if name == "" || s.overridden(words[0].text) {
		return contentText
	}
	args := words[1:]
	switch {
	case wordlist.Has(silentPrograms, name):
		return contentNothing
	case name == "echo" || name == "printf":
		if text := strings.Trim(join(args, ""), "neE-"); text == "" && len(args) > 0 && known(args) {
			return contentNothing
		}
	case wordlist.Has(reportPrograms, name):
		return contentReport
	case wordlist.Has(readers, name) || wordlist.Has("cat sort uniq awk gawk sed grep tr base64 gzip gunzip zcat iconv", name):
		return s.copied(name, args)
	}
	return contentText
}

func known(fs []field) bool {
	for _, f := range fs {
		if !f.known() {
			return false
		}
	}
	return true
}

// copied is what a program prints that prints what it reads: nothing where it
// reads only devices that hold nothing.
func (s *shell) copied(name string, args []field) content {
	o := parseOptions(args, programs()[name].valued, programs()[name].long)
	files := o.operands
	if wordlist.Has("awk gawk sed grep tr "+patternReaders, name) && len(files) > 0 && !o.has("ef", "") {
		files = files[1:]
	}
	if n := o.values("nc", ""); wordlist.Has("head tail", name) && len(n) > 0 && n[0].text == "0" {
		return contentNothing
	}
	if len(files) == 0 {
		if s.stdin.nothing() && !(name == "head" && wordlist.Has(endlessDevices, s.stdin.file)) {
			return contentNothing
		}
		return contentText
	}
	for _, f := range files {
		if !f.known() || !wordlist.Has(emptyDevices, f.text) || name == "head" && f.text != "/dev/null" {
			return contentText
		}
	}
	return contentNothing
}

// nothing reports whether there is nothing to be read.
func (st stream) nothing() bool {
	return wordlist.Has(emptyDevices, st.file) || st.kind != "" && st.known && st.text == ""
}

// replaces is how a file is touched whose content is replaced: it is deleted
// with it, where that is lost for nothing. A new file can't be told from one
// that was there but by its name: what runs make anew has names of its own.
func (s *shell) replaces(f field, c content) string {
	if c == contentNothing && !s.scratch(f) || c == contentReport && isSource(f.text) {
		return collect.AccessDelete
	}
	return collect.AccessWrite
}

// scratch reports whether a file is one that runs make anew, or one that is
// known at run time only.
func (s *shell) scratch(f field) bool {
	text := strings.ToLower(f.text)
	if !f.known() || collect.HarmlessDevice(text) {
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
	return len(s.dirs) > 0 && strings.HasPrefix(s.dirs[0]+"/", "/tmp/")
}

// isSource reports whether a file is one that people write, by its name.
func isSource(name string) bool {
	base := strings.ToLower(path.Base(name))
	stem, _, _ := strings.Cut(base, ".")
	return wordlist.Has(sourceEnds, path.Ext(base)) || wordlist.Has(sourceNames, stem)
}

// emptied is what a program leaves in the files that it writes by itself:
// nothing where it copies a device that holds nothing, or input that is empty,
// and a file that is elsewhere where a link takes its place.
func (s *shell) emptied(p program, files []field, target, links bool) content {
	sources := files
	switch p.use {
	case useCopy, useMove:
		if !target && len(files) > 0 {
			sources = files[:len(files)-1]
		}
	case useOutput:
		if s.stdin.nothing() {
			return contentNothing
		}
		return contentText
	case useRead:
	case useSecondWrite:
		if len(files) == 0 {
			return contentText
		}
		sources = files[:1]
	default:
		return contentText
	}
	switch {
	case len(sources) == 0:
		return contentText
	case !slices.ContainsFunc(sources, func(f field) bool { return !wordlist.Has(emptyDevices, f.text) }):
		return contentNothing
	case links && len(files) == 2 && path.Base(files[0].text) != path.Base(files[1].text):
		return contentReport
	}
	return contentText
}
