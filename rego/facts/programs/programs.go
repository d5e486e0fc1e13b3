// Package programs says what programs do: what they read, write and delete, what they
// run, whom they talk to. Most are a row of a table (tooltable.go, or the package
// operands); those with a grammar of their own have a function (special.go, git.go,
// compilers.go). What a command hangs on that is known at run time only is said by
// depends.go, and which of the project's own files it runs by project.go.
//
// Small programs in other languages are read by the package snippet (program.go);
// what it does not understand is unresolved, but for what is obvious in it (code.go).
//
// To add a program: a row of a table where it will do. A function gets the shell as
// it stands, and the words of the command.
package programs

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/operands"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// Table is what is known of programs.
var Table = sync.OnceValue(func() *shell.Programs {
	return &shell.Programs{
		Starts:  starterOf,
		Special: func(name string) bool { return specialOf(name) != nil },
		Effects: effects,
		Depends: depends,
		Runs:    projectRuns,
		Why:     why,
		Fixed:   writesNoContent,
	}
})

// effects adds what a command touches: paths, addresses, statements, and what
// of it could not be seen.
func effects(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	name := in.Name()
	environmentReads(s, name, in)
	if scheme := clients[name]; scheme != "" {
		addresses(s, scheme, in.Words[1:])
	}
	if w := in.Words[0]; strings.Contains(w.Text, "/") && w.Known() && !collect.SystemProgram(w.Text) {
		c.Unbound = append(c.Unbound, w.Text)
		for _, file := range runsBesides(append([]argv.Field{{Text: name}}, in.Words[1:]...)) {
			if codeFile.MatchString(file) {
				c.Unbound = append(c.Unbound, file)
			}
		}
		s.Touch(w, collect.AccessRead)
	}
	if name == "" {
		mentions(s, in)
		return
	}
	if wordlist.Has("http-server serve php", name) {
		servesOthers(s, name, in.Words[1:], c)
	}
	if f := specialOf(name); f != nil {
		f(s, in, c)
		return
	}
	if ip, ok := findInterpreter(name); ok {
		interpret(s, ip, in, c)
		return
	}
	if strings.HasPrefix(name, "mkfs.") {
		name = "mkfs"
	}
	if wordlist.Has("java zig", name) && sourceShown(s, in, c) {
		return
	}
	if t, ok := tools[name]; ok {
		toolCommand(s, t, in, c)
		mentions(s, in)
		c.Unbound = append(c.Unbound, runsFiles(name, in.Words[1:])...)
		return
	}
	p, ok := operands.Table()[strings.TrimPrefix(name, "g")]
	if q, exact := operands.Table()[name]; exact {
		p, ok = q, true
	}
	if shows(s, name) {
		defer func(r collect.Reach) { s.Reach = r }(s.Reach)
		s.Reach = collect.ReachName
	}
	if ok {
		apply(s, p, in)
	} else if name != "echo" && name != "printf" {
		mentions(s, in)
	}
	c.Unbound = append(c.Unbound, runsFiles(name, in.Words[1:])...)
}

// apply touches a program's operands as its row says.
func apply(s *shell.Shell, p operands.Program, in shell.Invocation) argv.Options {
	o := argv.ParseOptions(in.Words[1:], p.Valued, p.Long)
	files := o.Operands
	defer func() { decides(s, in, o, len(o.Operands)) }()
	switch {
	case p.Use == operands.UseSkipRead && (o.Has("e", "regexp") || o.Has("f", "file")):
		p.Use = operands.UseRead
	case p.Use == operands.UseSkipWrite && o.Has("", "reference"):
		p.Use = operands.UseWrite
	}
	if p.Use != operands.UseRead && p.Use != operands.UseSkipRead {
		i := &s.Found.Facts.Impact
		i.Recursive = i.Recursive || p.Always || o.Has(p.Recursive, "") || p.Recursive != "" && o.Has("", "recursive")
		i.Force = i.Force || o.Has(p.Force, "") || p.Force != "" && o.Has("", "force")
	}
	if p.InPlace != "" && (o.Has(p.InPlace, "inplace") || o.Has("", "in-place")) {
		p.Use = operands.UseSkipWrite
	}
	for _, f := range o.Values(p.Reads, "") {
		use(s, in, f, collect.AccessRead)
	}
	for _, f := range append(o.Values(p.Globs, ""), append(o.Values("", "include"), append(o.Values("", "glob"), o.Values("", "iglob")...)...)...) {
		if collect.Classify(f.Text, collect.AccessRead) == collect.ClassSecret {
			s.Touch(f, collect.AccessRead)
		}
	}
	target := append(o.Values(p.Writes, ""), o.Values("", "target-directory")...)
	if p.Writes != "" {
		target = append(append(target, o.CutShort("output")...), o.CutShort("directory")...)
	}
	for long := range strings.FieldsSeq(p.Runs) {
		for _, f := range o.CutShort(long) {
			s.CodeText(f, in.Under(in.Name()+" --"+long))
		}
	}
	leaves := emptied(s, p, files, len(target) > 0, in.Name() == "ln" && o.Has("f", "force"))
	for _, f := range target {
		use(s, in, f, s.Replaces(f, leaves))
		into(s, in, f, files)
	}
	patterns := o.Values("e", "regexp")
	if p.Use == operands.UseSkipRead && len(files) > 0 {
		patterns = append(patterns, files[0])
	}
	if carries(s, p, in, o, len(target) > 0) {
		return o
	}
	renames := p.Use == operands.UseMove && Keeps(s, target, files)
	if renames {
		p.Use = operands.UseWrite
	}
	defer func() { s.Found.Renames = false }()
	if reads := readReach(p, o, patterns); reads != collect.ReachOne && slices.Contains([]operands.Use{operands.UseRead, operands.UseSkipRead, operands.UseCopy, operands.UseFirstWrite}, p.Use) {
		defer func(r collect.Reach) { s.Reach = r }(s.Reach)
		s.Reach = reads
		if here := (argv.Field{Text: "."}); (p.Use == operands.UseSkipRead && len(files) == 1 || p.Use == operands.UseRead && len(files) == 0) && s.Stdin.Kind == "" && !s.Stays(here) {
			s.Touch(here, collect.AccessRead)
		}
	}
	for i, f := range files {
		s.Found.Renames = renames && (i < len(files)-1 || len(target) > 0)
		switch access := p.Use.Of(i, len(files), len(target) > 0); access {
		case "":
		case collect.AccessWrite:
			reach := collect.ReachOne
			if in.Name() == "mv" && strings.HasSuffix(f.Text, "*.md") {
				reach = collect.ReachName // files get another end
			}
			write := func() { s.Reaching(reach, func() { use(s, in, f, s.Replaces(f, leaves)) }) }
			if wordlist.Has("touch cp tee", in.Name()) {
				s.Pours(f, write)
			} else {
				write()
			}
		default:
			use(s, in, f, access)
		}
	}
	return o
}

// carries is what copying and moving do besides what is done with each operand. It reports
// whether that is all: a file gets a name with another end.
func carries(s *shell.Shell, p operands.Program, in shell.Invocation, o argv.Options, elsewhere bool) (all bool) {
	if p.Use != operands.UseCopy && p.Use != operands.UseMove {
		return false
	}
	files := o.Operands
	for _, f := range files {
		at, ok := s.FileAt(argv.Field{Text: strings.TrimRight(f.Text, "*")})
		if ok && !s.Quiet && holdsNumbers.MatchString(at) {
			s.Found.Fail("numbers of processes are copied: %s", at)
		}
	}
	s.Found.CopiesMore = s.Found.CopiesMore || !s.Quiet && copiesMore(in, o, files)
	if n := len(files); n > 1 && !elsewhere {
		into(s, in, files[n-1], files[:n-1])
	}
	if len(files) != 2 {
		return false
	}
	from, to := files[0], files[1]
	if end, ok := strings.CutPrefix(to.Text, from.Text); ok && from.Known() && to.Known() {
		s.Besides(from.Text, end)
	}
	if !elsewhere && dataStore.MatchString(to.Text) && collect.LeadsOut(from.Text) && !collect.LeadsOut(to.Text) {
		use(s, in, to, collect.AccessDelete) // what was in it is in no history
	}
	return p.Use == operands.UseMove && from.Within && to.Within
}

// holdsNumbers is where services keep the numbers of their processes, or a folder above. A
// command that ends a process takes a number for the agent's own that lies in its folder.
var holdsNumbers = lazyregexp.New(`^(/|/var|/(var/)?run(/.*)?)$`)

// copiesMore reports whether a command may put more files somewhere than its words name: a
// folder with all in it, what a pattern meets, or a file with the name of a process's number.
func copiesMore(in shell.Invocation, o argv.Options, files []argv.Field) bool {
	return !wordlist.Has("cp ln link", in.Name()) || o.Has("rRa", "recursive") || o.Has("", "archive") ||
		slices.ContainsFunc(files, func(f argv.Field) bool { return !f.Known() || f.Glob || collect.PidFile.MatchString(f.Text) })
}

// decides notes the files and folders of which a command leaves nothing that was there
// before: a copy, what tee writes, a folder that is made.
func decides(s *shell.Shell, in shell.Invocation, o argv.Options, n int) {
	switch name := in.Name(); {
	case name == "tee" && !o.Has("a", "append"):
		for _, f := range o.Operands {
			s.Owns(f)
		}
	case name == "ln" && n == 2 && !o.Has("t", "target-directory") && !hasPrefixed(in.Words, "--t"):
		s.Leads(o.Operands[1], o.Operands[0])
	case name == "ln" && n > 0, name == "cp" && (o.Has("sl", "symbolic-link") || o.Has("", "link") || len(s.Found.Links) > 0 && (o.Has("PdaRr", "archive") || hasPrefixed(in.Words, "--")) || hasPrefixed(in.Words, "--sy", "--l")):
		s.Found.Astray = s.Found.Astray || !s.Quiet
	case name == "cp" && n == 2 && !o.Has("rRa", "recursive") && !o.Has("", "archive") && !o.Has("nitu", "no-clobber") && !o.Has("", "interactive") && !o.Has("", "update"):
		if s.CopyLasts() || s.HasWritten(o.Operands[0]) {
			s.Owns(o.Operands[1])
		} else {
			s.OwnsPerhaps(o.Operands[1])
		}
	case name == "mkdir":
		only := makesOnly(in.Words[1:]) // it would have failed where there was one
		for _, f := range o.Operands {
			if only || !f.Known() {
				s.MakesFolder(f)
			}
		}
	}
}

// hasPrefixed reports whether one of the words begins in one of several ways.
func hasPrefixed(words []argv.Field, begins ...string) bool {
	return slices.ContainsFunc(words, func(f argv.Field) bool {
		return slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(f.Text, b) })
	})
}

// makesOnly reports whether the options of mkdir leave it failing where there is a folder.
func makesOnly(words []argv.Field) bool {
	return !slices.ContainsFunc(words, func(f argv.Field) bool {
		return strings.HasPrefix(f.Text, "-") && !wordlist.Has("-v -m --", f.Text) && !strings.HasPrefix(f.Text, "--mode=")
	})
}

// Keeps reports whether what is moved stays where the session can reach it:
// the target lies in its folder. Moving there is a change of names and no
// deletion.
func Keeps(s *shell.Shell, target, files []argv.Field) bool {
	if len(target) == 0 && len(files) > 1 {
		target = files[len(files)-1:]
	}
	for _, f := range target {
		if !s.Stays(f) {
			return false
		}
	}
	return len(target) > 0
}

// use touches a path that a command names; {} in the command of a find stands
// for what lies under its roots.
func use(s *shell.Shell, in shell.Invocation, f argv.Field, access string) {
	if strings.Contains(f.Text, "{}") && len(in.Roots) > 0 {
		to := collect.ReachBeneath
		if in.Narrow {
			to = collect.ReachOne
		}
		s.Reaching(to, func() {
			for _, r := range in.Roots {
				at := argv.Field{Text: r}
				if f.Text == "{}" && access == collect.AccessDelete {
					at = below(s, at, in.Named)
				}
				s.Touch(at, access)
			}
		})
		if access != collect.AccessRead {
			s.Found.Facts.Impact.Recursive = true
		}
		return
	}
	if strings.Contains(f.Text, "://") && !strings.HasPrefix(f.Text, "file:") {
		return
	}
	host, file, ok := strings.Cut(f.Text, ":")
	if ok && file != "" && (remoteHost(host) || wordlist.Has("scp rsync tar gtar", in.Name()) && host != "" && !strings.ContainsAny(host, "/~$*")) {
		s.Found.Host("ssh", host)
		return
	}
	s.Touch(f, access)
}

// remoteHost reports whether what stands before a colon names a machine, as
// in scp's host:file.
func remoteHost(host string) bool {
	return host != "" && !strings.ContainsAny(host, "/ ~$*") && (strings.Contains(host, "@") || strings.Contains(host, "."))
}

// outputs are the options that name the file which a program writes, in most.
const outputs = "-o -O -out --out --output --output-file --output-dir --outfile --outdir"

// mentions adds the sensitive paths among the words of a program that is not
// known: what it does with them can't be told.
func mentions(s *shell.Shell, in shell.Invocation) {
	strays(s, in)
	for i, w := range in.Words[1:] {
		s.Found.Tick()
		t := w.Text
		access := collect.AccessRead
		if name, _, ok := strings.Cut(t, "="); wordlist.Has(outputs, in.Words[i].Text) || ok && wordlist.Has(outputs, name) {
			access = collect.AccessWrite
		}
		if _, v, ok := strings.Cut(t, "="); ok && strings.HasPrefix(t, "-") {
			t = v
		}
		t = strings.TrimPrefix(t, "@")
		if in.Name() == "find" && leftOut(in.Words, i+1) || in.Name() == "openssl" && showsCertificate(in.Words, i+1) {
			continue
		}
		if t == "" || strings.HasPrefix(t, "-") || strings.ContainsAny(t, " \n") || strings.Contains(t, "://") {
			continue
		}
		class := collect.Classify(t, access)
		away := access == collect.AccessWrite && (strings.HasPrefix(t, "/") || strings.HasPrefix(t, "~") || strings.HasPrefix(t, "../"))
		if class == collect.ClassSecret || class == collect.ClassPersistence || away {
			w.Text = t
			s.Touch(w, access)
		}
	}
}

// dataStore is a file in which data is kept, by its name.
var dataStore = lazyregexp.New(`(?i)\.(sqlite3?|db3?|mdb|rdb|realm|duckdb|kdbx)$`)

// leftOut reports whether the word at i of find is a pattern of what it leaves out.
func leftOut(words []argv.Field, i int) bool {
	if !wordlist.Has("-path -name -ipath -iname -wholename", words[i-1].Text) {
		return false
	}
	return i > 1 && wordlist.Has("-not !", words[i-2].Text) || i+1 < len(words) && words[i+1].Text == "-prune"
}

// showsCertificate reports whether the word at i of openssl is a file of which it prints what
// is public, and no key.
func showsCertificate(words []argv.Field, i int) bool {
	return i > 2 && wordlist.Has("x509 crl verify", words[1].Text) && (words[i-1].Text == "-in" || words[1].Text == "verify")
}

// runsFiles are the files, or targets, that build tools and task runners run.
func runsFiles(name string, words []argv.Field) []string {
	o := argv.ParseOptions(words, "fCj", "file directory makefile justfile taskfile config")
	first := ""
	if len(o.Operands) > 0 {
		first = o.Operands[0].Text
	}
	switch name {
	case "make", "gmake":
		if f := append(o.Values("f", "file"), o.Values("", "makefile")...); len(f) > 0 {
			return []string{f[0].Text}
		}
		return []string{"Makefile"}
	case "npm", "yarn", "pnpm":
		if name == "yarn" && first == "" || !wordlist.Has("view info config list ls outdated search whoami help version docs why audit ping root bin prefix", first) && first != "" {
			return []string{"package.json"}
		}
	case "cargo":
		if wordlist.Has("build b run r test t check c bench install clippy doc nextest", first) {
			return []string{"Cargo.toml"}
		}
	case "go":
		if wordlist.Has("run test generate tool", first) {
			return goTargets(words, first)
		}
	case "pip", "uv", "poetry":
		if wordlist.Has("install sync", first) {
			return []string{name + " " + first}
		}
	case "java":
		if first != "" {
			return []string{first}
		}
	case "swift", "dotnet":
		if wordlist.Has("run test build", first) {
			return []string{map[string]string{"swift": "Package.swift", "dotnet": "*.csproj"}[name]}
		}
	}
	if file, ok := runnerFiles[name]; ok && (name != "terraform" || wordlist.Has("apply console destroy get graph import init plan providers refresh test validate", first)) {
		return []string{file}
	}
	return nil
}

// runnerFiles are the files that task runners read.
var runnerFiles = map[string]string{
	"just": "justfile", "task": "Taskfile.yml", "rake": "Rakefile", "tox": "tox.ini", "nox": "noxfile.py", "mvn": "pom.xml", "mvnw": "pom.xml",
	"gradle": "build.gradle", "gradlew": "build.gradle", "ant": "build.xml", "bazel": "BUILD", "ninja": "build.ninja", "cmake": "CMakeLists.txt",
	"pytest": "tests", "jest": "package.json", "vitest": "package.json", "terraform": "*.tf", "vagrant": "Vagrantfile", "ansible-playbook": "playbook",
	"pre-commit": ".pre-commit-config.yaml", "composer": "composer.json", "mix": "mix.exs",
	"turbo": "package.json", "nx": "package.json", "grunt": "Gruntfile.js", "gulp": "gulpfile.js",
}

// goTargets are the packages and files that go runs, by its verb. What stands behind a
// package is given to it.
func goTargets(words []argv.Field, verb string) []string {
	i := slices.IndexFunc(words, func(w argv.Field) bool { return w.Text == verb }) + 1
	if verb == "tool" && i < len(words) && (wordlist.Has(goLooks, words[i].Text) || words[i].Text == "pprof" && printsProfile(words[i+1:])) {
		return nil
	}
	var folders, out []string
	for at, w := range words[:max(0, len(words)-1)] {
		if strings.TrimLeft(w.Text, "-") == "C" {
			folders = append(folders, words[at+1].Text)
		}
	}
	for ; i < len(words); i++ {
		w := words[i]
		name := strings.TrimLeft(w.Text, "-")
		switch {
		case w.Text == "-args" || w.Text == "--args":
			i = len(words)
		case name != w.Text && wordlist.Has(goValued, name):
			i++
		case name != w.Text, !w.Known():
		case verb == "run" && len(out) > 0 && path.Ext(w.Text) != ".go":
			i = len(words)
		case strings.ContainsAny(w.Text, "/."):
			out = append(out, w.Text)
		}
	}
	if len(out) == 0 {
		out = []string{"."}
	}
	return append(folders, out...)
}

// goLooks are tools of Go's own that look at what they are given.
const goLooks = "nm objdump addr2line buildid covdata cover"

// printsProfile reports whether pprof, of these words, prints what lies in files: it can
// fetch, listen, run tools, and take commands from standard input.
func printsProfile(words []argv.Field) bool {
	prints := false
	for _, w := range words {
		prints = prints || profileReport.MatchString(w.Text)
		if !w.Known() || !profileReport.MatchString(w.Text) && !profileOption.MatchString(w.Text) && !profileFile.MatchString(w.Text) {
			return false
		}
	}
	return prints
}

var (
	profileReport = lazyregexp.New(`^-(top|text|tree|raw|traces|tags|peek=[\w.*|()\[\]^$]+)$`)
	profileOption = lazyregexp.New(`^-(cum|flat|lines|files|functions|addresses|alloc_space|alloc_objects|inuse_space|inuse_objects|(nodecount|nodefraction|edgefraction|unit|sample_index|focus|ignore|hide|show)=[\w.*|]+)$`)
	profileFile   = lazyregexp.New(`^\.{0,2}/?[\w][\w./-]*\.(prof|pprof|out|test|pb|pb\.gz|gz|exe)$`)
)

// goValued are options of go that take a value which is no package. What they name that is
// run or loaded is told by goCommand.
const goValued = "run bench skip fuzz fuzztime benchtime count timeout parallel p cpu list shuffle tags ldflags gcflags asmflags covermode coverpkg mod buildmode pgo " +
	"C o coverprofile cpuprofile memprofile blockprofile mutexprofile trace outputdir exec toolexec vettool overlay modfile pkgdir"
