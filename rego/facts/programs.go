package facts

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// How a program touches the files that its operands name.
type operandUse uint8

const (
	useNone        operandUse = iota
	useRead                   // all are read
	useWrite                  // all are written
	useOutput                 // all are written with what is read from standard input
	useDelete                 // all are deleted
	useCopy                   // the last is written, the others are read
	useMove                   // the last is written, the others go there
	useSkipWrite              // the first is no file, the others are written
	useSkipRead               // the first is no file, the others are read
	useFirstWrite             // the first is written, the others are read
	useSecondWrite            // the second is written, the others are read
)

// A program is what is known of a command that touches files.
type program struct {
	use       operandUse
	valued    string // short options that take a value
	long      string // long options that take a value
	recursive string // short options that make it recursive; --recursive always does
	force     string // short options that force; --force always does
	reads     string // short options whose value is a file that it reads
	writes    string // short options whose value is a file that it writes
	globs     string // short options whose value says which files it reads; --include and --glob always do
	runs      string // long options whose value is a command that it runs
	types     string // short options whose value says which kinds of files it reads
	inPlace   string // short options that make it write the files that it reads; --inplace and --in-place always do
	always    bool   // recursive in any case
}

// programs is the table of the common ones, by the GNU and BSD manuals.
var programs = sync.OnceValue(func() map[string]program {
	m := map[string]program{
		"rm":         {use: useDelete, recursive: "rR", force: "f"},
		"rmdir":      {use: useDelete},
		"unlink":     {use: useDelete},
		"srm":        {use: useDelete, recursive: "rR", force: "f"},
		"trash":      {use: useDelete},
		"del":        {use: useDelete},
		"rimraf":     {use: useDelete, always: true, force: ""},
		"shred":      {use: useDelete, valued: "ns", long: "iterations size random-source", force: "f"},
		"wipe":       {use: useDelete, recursive: "r", force: "f"},
		"mv":         {use: useMove, valued: "tS", long: "target-directory suffix", force: "f", writes: "t"},
		"cp":         {use: useCopy, valued: "tS", long: "target-directory suffix", recursive: "rRa", force: "f", writes: "t"},
		"ln":         {use: useCopy, valued: "tS", long: "target-directory suffix", force: "f", writes: "t"},
		"link":       {use: useCopy},
		"install":    {use: useCopy, valued: "gmotS", long: "group mode owner target-directory suffix", writes: "t"},
		"rsync":      {use: useCopy, valued: "efBMT", long: "rsh exclude include exclude-from include-from files-from filter backup-dir temp-dir log-file rsync-path port password-file"},
		"scp":        {use: useCopy, valued: "cFiJloPSDX", recursive: "r"},
		"touch":      {use: useWrite, valued: "drt", long: "date reference time"},
		"tee":        {use: useOutput},
		"sponge":     {use: useOutput},
		"mkdir":      {use: useWrite, valued: "m", long: "mode"},
		"mkfifo":     {use: useWrite, valued: "m"},
		"truncate":   {use: useWrite, valued: "rs", long: "reference size"},
		"fallocate":  {use: useWrite, valued: "lo", long: "length offset"},
		"chmod":      {use: useSkipWrite, recursive: "R", force: ""},
		"chown":      {use: useSkipWrite, recursive: "R"},
		"chgrp":      {use: useSkipWrite, recursive: "R"},
		"chattr":     {use: useSkipWrite, recursive: "R"},
		"setfacl":    {use: useWrite, valued: "mxMX", recursive: "R"},
		"xattr":      {use: useSkipWrite, valued: "wd", recursive: "r"},
		"mkfs":       {use: useWrite, valued: "t"},
		"wipefs":     {use: useDelete, force: "f"},
		"blkdiscard": {use: useDelete, force: "f"},
		"fdisk":      {use: useWrite}, "parted": {use: useFirstWrite}, "sgdisk": {use: useWrite}, "mkswap": {use: useWrite},
		"split": {use: useSecondWrite, valued: "abCnl", long: "filter", runs: "filter"},
		"gzip":  {use: useWrite, valued: "S", recursive: "r", force: "f"}, "gunzip": {use: useWrite, recursive: "r", force: "f"},
		"bzip2": {use: useWrite, force: "f"}, "xz": {use: useWrite, valued: "T", force: "f"}, "zstd": {use: useWrite, valued: "o", writes: "o"},
		"patch": {use: useWrite, valued: "pidorBDFVYz", long: "directory input output reject-file strip", reads: "i", writes: "dor"},
		"zip":   {use: useFirstWrite, valued: "xinbt", long: "unzip-command exclude include", recursive: "r", runs: "unzip-command"},
		"unzip": {use: useRead, valued: "dx", writes: "d", force: "o"},
		"ed":    {use: useWrite, valued: "p"}, "ex": {use: useWrite, valued: "c"}, "nano": {use: useWrite},
		"grep":  {use: useSkipRead, valued: "efABCmDd", long: "regexp file after-context before-context context max-count include exclude exclude-dir", reads: "f", recursive: "rR"},
		"rg":    {use: useSkipRead, valued: "efABCmgtTjMrE", long: "regexp file after-context before-context context max-count glob type iglob pre pre-glob hostname-bin ignore-file", reads: "f", globs: "g", types: "t", runs: "pre hostname-bin", always: true},
		"ag":    {use: useSkipRead, valued: "ABCmGp", globs: "G", always: true},
		"ack":   {use: useSkipRead, valued: "ABCm", always: true},
		"jq":    {use: useSkipRead, valued: "fL", long: "arg argjson slurpfile rawfile indent", reads: "f"},
		"yq":    {use: useSkipRead, valued: "opIf", inPlace: "i"},
		"head":  {use: useRead, valued: "nc", long: "lines bytes"},
		"tail":  {use: useRead, valued: "nc", long: "lines bytes pid"},
		"sort":  {use: useRead, valued: "kotST", long: "key output field-separator compress-program files0-from temporary-directory", writes: "o", runs: "compress-program"},
		"cut":   {use: useRead, valued: "dfbc"},
		"paste": {use: useRead, valued: "d"},
		"od":    {use: useRead, valued: "AjNtw"}, "xxd": {use: useSecondWrite, valued: "clgso"}, "uniq": {use: useSecondWrite, valued: "fsw"},
		"shuf": {use: useRead, valued: "ino", long: "output input-range head-count", writes: "o"}, "hexdump": {use: useRead, valued: "efns"},
		"strings": {use: useRead, valued: "nt"}, "base64": {use: useRead, valued: "wio", long: "output input wrap", writes: "o", reads: "i"}, "base32": {use: useRead, valued: "w"},
		"pdftotext": {use: useSecondWrite, valued: "flrxyWHe"}, "qpdf": {use: useSecondWrite}, "sass": {use: useSecondWrite, valued: "I"}, "lessc": {use: useSecondWrite},
		"dos2unix": {use: useWrite}, "unix2dos": {use: useWrite}, "recode": {use: useSkipWrite},
		"source": {}, "stat": {use: useRead, valued: "cf", long: "format printf"},
		"ls": {use: useRead, valued: "IwT", long: "ignore width"}, "tree": {use: useRead, valued: "LIPo", writes: "o"}, "du": {use: useRead, valued: "dtX"},
		"dircolors": {use: useRead}, "openssl": {},
	}
	m["egrep"], m["fgrep"], m["zgrep"] = m["grep"], m["grep"], m["grep"]
	for _, name := range strings.Fields("cat tac less more most bat nl wc file md5sum sha1sum sha256sum sha512sum md5 shasum cksum diff cmp comm join rev fold fmt column expand readlink realpath zcat bzcat xzcat view open xdg-open gpg pbcopy look") {
		m[name] = program{use: useRead}
	}
	return m
})

// effects adds what a command touches: paths, addresses, statements, and what
// of it could not be seen.
func effects(s *shell, in invocation, c *Command) {
	name := in.name()
	s.environmentReads(name, in)
	if scheme := clients[name]; scheme != "" {
		s.addresses(scheme, in.words[1:])
	}
	if w := in.words[0]; strings.Contains(w.text, "/") && w.known() && !collect.SystemProgram(w.text) {
		c.Unbound = append(c.Unbound, w.text)
		s.touch(w, collect.AccessRead)
	}
	if name == "" {
		s.mentions(in)
		return
	}
	if f := specialOf(name); f != nil {
		f(s, in, c)
		return
	}
	if ip, ok := findInterpreter(name); ok {
		s.interpret(ip, in, c)
		return
	}
	if strings.HasPrefix(name, "mkfs.") {
		name = "mkfs"
	}
	if wordlist.Has("java zig", name) && s.sourceShown(in, c) {
		return
	}
	if t, ok := tools[name]; ok {
		toolCommand(s, t, in, c)
		s.mentions(in)
		c.Unbound = append(c.Unbound, runsFiles(name, in.words[1:])...)
		return
	}
	p, ok := programs()[strings.TrimPrefix(name, "g")]
	if q, exact := programs()[name]; exact {
		p, ok = q, true
	}
	if s.shows(name) {
		defer func(r collect.Reach) { s.reach = r }(s.reach)
		s.reach = collect.ReachName
	}
	if ok {
		s.apply(p, in)
	} else if name != "echo" && name != "printf" {
		s.mentions(in)
	}
	c.Unbound = append(c.Unbound, runsFiles(name, in.words[1:])...)
}

// apply touches a program's operands as its row says.
func (s *shell) apply(p program, in invocation) options {
	o := parseOptions(in.words[1:], p.valued, p.long)
	files := o.operands
	switch {
	case p.use == useSkipRead && (o.has("e", "regexp") || o.has("f", "file")):
		p.use = useRead
	case p.use == useSkipWrite && o.has("", "reference"):
		p.use = useWrite
	}
	if p.use != useRead && p.use != useSkipRead {
		i := &s.x.Facts.Impact
		i.Recursive = i.Recursive || p.always || o.has(p.recursive, "") || p.recursive != "" && o.has("", "recursive")
		i.Force = i.Force || o.has(p.force, "") || p.force != "" && o.has("", "force")
	}
	if p.inPlace != "" && (o.has(p.inPlace, "inplace") || o.has("", "in-place")) {
		p.use = useSkipWrite
	}
	for _, f := range o.values(p.reads, "") {
		s.use(in, f, collect.AccessRead)
	}
	for _, f := range append(o.values(p.globs, ""), append(o.values("", "include"), append(o.values("", "glob"), o.values("", "iglob")...)...)...) {
		if collect.Classify(f.text, collect.AccessRead) == collect.ClassSecret {
			s.touch(f, collect.AccessRead)
		}
	}
	target := append(o.values(p.writes, ""), o.values("", "target-directory")...)
	if p.writes != "" {
		target = append(append(target, o.cutShort("output")...), o.cutShort("directory")...)
	}
	for long := range strings.FieldsSeq(p.runs) {
		for _, f := range o.cutShort(long) {
			s.codeText(f, in.under(in.name()+" --"+long))
		}
	}
	leaves := s.emptied(p, files, len(target) > 0, in.name() == "ln" && o.has("f", "force"))
	for _, f := range target {
		s.use(in, f, s.replaces(f, leaves))
		s.into(in, f, files)
	}
	patterns := o.values("e", "regexp")
	if p.use == useSkipRead && len(files) > 0 {
		patterns = append(patterns, files[0])
	}
	if p.use == useCopy || p.use == useMove {
		if n := len(files); n > 1 && len(target) == 0 {
			s.into(in, files[n-1], files[:n-1])
		}
	}
	if len(files) == 2 && (p.use == useCopy || p.use == useMove) && files[0].known() && files[1].known() {
		if end, ok := strings.CutPrefix(files[1].text, files[0].text); ok {
			s.besides(files[0].text, end)
		}
	}
	if n := len(files); (p.use == useCopy || p.use == useMove) && n == 2 && len(target) == 0 && dataStore.MatchString(files[1].text) && leadsOut(files[0].text) && !leadsOut(files[1].text) {
		s.use(in, files[1], collect.AccessDelete) // what was in it is in no history
	}
	if p.use == useMove && len(files) == 2 && files[0].within && files[1].within {
		return o // the same file by a name with another end
	}
	if p.use == useMove && s.keeps(target, files) {
		p.use = useWrite
	}
	if reads := readReach(p, o, patterns); reads != collect.ReachOne && slices.Contains([]operandUse{useRead, useSkipRead, useCopy, useFirstWrite}, p.use) {
		defer func(r collect.Reach) { s.reach = r }(s.reach)
		s.reach = reads
		if here := (field{text: "."}); (p.use == useSkipRead && len(files) == 1 || p.use == useRead && len(files) == 0) && s.stdin.kind == "" && !s.stays(here) {
			s.touch(here, collect.AccessRead)
		}
	}
	for i, f := range files {
		switch access := p.use.of(i, len(files), len(target) > 0); access {
		case "":
		case collect.AccessWrite:
			s.reaching(collect.ReachOne, func() { s.use(in, f, s.replaces(f, leaves)) })
		default:
			s.use(in, f, access)
		}
	}
	return o
}

// keeps reports whether what is moved stays where the session can reach it:
// the target lies in its folder. Moving there is a change of names and no
// deletion.
func (s *shell) keeps(target, files []field) bool {
	if len(target) == 0 && len(files) > 1 {
		target = files[len(files)-1:]
	}
	for _, f := range target {
		if !s.stays(f) {
			return false
		}
	}
	return len(target) > 0
}

// stays reports whether a word names a path inside of the session's folder,
// whichever folder the shell is in.
func (s *shell) stays(f field) bool {
	f = s.here(f)
	text, known := s.x.ExpandTilde(f.text, s.remote)
	if !f.known() || !known || s.remote || len(s.taint) > 0 || collect.HarmlessDevice(text) {
		return false
	}
	if path.IsAbs(text) {
		return s.x.Inside(path.Clean(text))
	}
	outside := func(dir string) bool { return !s.x.Inside(collect.JoinDir(dir, text)) }
	return len(s.dirs) > 0 && !slices.ContainsFunc(s.dirs, outside)
}

// of is how the operand at i of n is touched.
func (u operandUse) of(i, n int, target bool) string {
	last := i == n-1 && n > 1 && !target
	switch u {
	case useRead:
		return collect.AccessRead
	case useWrite, useOutput:
		return collect.AccessWrite
	case useDelete:
		return collect.AccessDelete
	case useCopy, useMove:
		switch {
		case last:
			return collect.AccessWrite
		case u == useMove:
			return collect.AccessDelete
		}
		return collect.AccessRead
	case useFirstWrite, useSecondWrite:
		if i == int(u-useFirstWrite) {
			return collect.AccessWrite
		}
		return collect.AccessRead
	case useSkipWrite, useSkipRead:
		switch {
		case i == 0:
			return ""
		case u == useSkipWrite:
			return collect.AccessWrite
		}
		return collect.AccessRead
	}
	return ""
}

// use touches a path that a command names; {} in the command of a find stands
// for what lies under its roots.
func (s *shell) use(in invocation, f field, access string) {
	if strings.Contains(f.text, "{}") && len(in.roots) > 0 {
		to := collect.ReachBeneath
		if in.narrow {
			to = collect.ReachOne
		}
		s.reaching(to, func() {
			for _, r := range in.roots {
				s.touch(field{text: r}, access)
			}
		})
		if access != collect.AccessRead {
			s.x.Facts.Impact.Recursive = true
		}
		return
	}
	if strings.Contains(f.text, "://") && !strings.HasPrefix(f.text, "file:") {
		return
	}
	host, file, ok := strings.Cut(f.text, ":")
	if ok && file != "" && (remoteHost(host) || wordlist.Has("scp rsync tar gtar", in.name()) && host != "" && !strings.ContainsAny(host, "/~$*")) {
		s.x.Host("ssh", host)
		return
	}
	s.touch(f, access)
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
func (s *shell) mentions(in invocation) {
	s.strays(in)
	for i, w := range in.words[1:] {
		s.x.Tick()
		t := w.text
		access := collect.AccessRead
		if name, _, ok := strings.Cut(t, "="); wordlist.Has(outputs, in.words[i].text) || ok && wordlist.Has(outputs, name) {
			access = collect.AccessWrite
		}
		if _, v, ok := strings.Cut(t, "="); ok && strings.HasPrefix(t, "-") {
			t = v
		}
		t = strings.TrimPrefix(t, "@")
		if in.name() == "find" && leftOut(in.words, i+1) {
			continue
		}
		if t == "" || strings.HasPrefix(t, "-") || strings.ContainsAny(t, " \n") || strings.Contains(t, "://") {
			continue
		}
		class := collect.Classify(t, access)
		away := access == collect.AccessWrite && (strings.HasPrefix(t, "/") || strings.HasPrefix(t, "~") || strings.HasPrefix(t, "../"))
		if class == collect.ClassSecret || class == collect.ClassPersistence || away {
			s.touch(field{text: t, dynamic: w.dynamic}, access)
		}
	}
}

// dataStore is a file in which data is kept, by its name.
var dataStore = regexp.MustCompile(`(?i)\.(sqlite3?|db3?|mdb|rdb|realm|duckdb|kdbx)$`)

// leftOut reports whether the word at i of find is a pattern of what it leaves out.
func leftOut(words []field, i int) bool {
	if !wordlist.Has("-path -name -ipath -iname -wholename", words[i-1].text) {
		return false
	}
	return i > 1 && wordlist.Has("-not !", words[i-2].text) || i+1 < len(words) && words[i+1].text == "-prune"
}

// runsFiles are the files, or targets, that build tools and task runners run.
func runsFiles(name string, words []field) []string {
	o := parseOptions(words, "fCj", "file directory makefile justfile taskfile config")
	first := ""
	if len(o.operands) > 0 {
		first = o.operands[0].text
	}
	switch name {
	case "make", "gmake":
		if f := append(o.values("f", "file"), o.values("", "makefile")...); len(f) > 0 {
			return []string{f[0].text}
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

func goTargets(words []field, verb string) []string {
	var out []string
	for _, w := range words {
		if w.text != verb && w.known() && !strings.HasPrefix(w.text, "-") && (strings.ContainsAny(w.text, "/.") || path.Ext(w.text) == ".go") {
			out = append(out, w.text)
		}
	}
	if len(out) == 0 {
		return []string{"."}
	}
	return out
}
