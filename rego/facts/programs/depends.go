package programs

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/environ"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/operands"
	"github.com/holdgate/holdgate/rego/facts/programs/databases"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// depends lists what the command depends on of its words.
func depends(s *shell.Shell, in shell.Invocation, program string) []string {
	var out []string
	for i, w := range in.Words {
		switch {
		case w.Known() && w.Runs:
			out = append(out, w.Text)
		case w.Known():
		case i > 0 && !w.Runs && indifferent(s, in, i):
		case w.Stdin:
			out = append(out, "stdin")
		default:
			out = append(out, w.Dynamic...)
		}
		if i == 0 || len(w.Assumed) > 0 && !assumedFreely(s, in, i) {
			out = append(out, w.Assumed...)
		}
		if i == 0 && !w.Stdin && (program == "" && w.Known() || w.Glob) {
			out = append(out, w.Text)
		}
	}
	out = append(out, s.RunningNames(in)...)
	for _, a := range s.Overlaid(s.Env, in.Assigns...) {
		if a.Steers() && (program == "" || len(environ.Loads(program, a.Text)) > 0 || slices.Contains(argv.Texts(in.Assigns), a.Text)) {
			out = append(append(out, pathDynamics(a)...), a.Assumed...)
		}
	}
	return slices.Concat(out, s.Opened, s.Taint)
}

// assumedFreely reports whether the word at i may be another than its default: an earlier
// call may have set the variable. Programs that serve or read may be told another port.
func assumedFreely(s *shell.Shell, in shell.Invocation, i int) bool {
	w := in.Words[i]
	if i > 1 && portNumber.MatchString(w.Text) && wordlist.Has("python python3 node uvicorn gunicorn flask php head tail", in.Name()) {
		return true
	}
	if in.Words[0].Assumed != nil {
		return false
	}
	in.Words = slices.Clone(in.Words)
	in.Words[i].Dynamic = append(slices.Clone(w.Dynamic), w.Assumed...)
	return indifferent(s, in, i)
}

// portNumber is a number of a port, or what else programs that serve or read are told.
var portNumber = lazyregexp.New(`^\d{1,5}$`)

// indifferent reports whether the command does the same whatever the word at
// i, which depends on run time, turns out to be.
func indifferent(s *shell.Shell, in shell.Invocation, i int) bool {
	w, name := in.Words[i], in.Name()
	switch {
	case name == "kill":
		return w.Origin == argv.OriginOwn || w.Origin == argv.OriginAtom && in.Words[1].Text == "-0" || w.Process || ownProcess(s, w)
	case in.Named != "" && w.Text == "{}" && wordlist.Has("rm rmdir unlink", name):
		return true // it begins with the root, and what is deleted is told
	case wordlist.Has(operands.LookingPrograms, name), name == "command" && wordlist.Has("-v -V", in.Words[1].Text) && i > 1:
		return true
	case wordlist.Has(operands.TextPrograms, name):
		return !slices.ContainsFunc(in.Words, func(f argv.Field) bool { return f.Text == "-v" })
	case wordlist.Has("export declare local readonly typeset", name):
		return argv.IsAssignment(w) && (!w.Steers() || len(pathDynamics(w)) == 0)
	case s.Here(w).Known(), inScratch(s, in, i):
		return true
	case w.Origin >= argv.OriginValue && name != "cd" && name != "pushd":
		return true
	case (name == "cd" || name == "pushd") && s.BesideScript(w):
		return true
	case name == "cd" || name == "pushd":
		return w.Origin >= argv.OriginValue && !strings.Contains(w.Text, "..") || s.GoesWithin(w)
	case wordlist.Has(operands.Readers, name):
		return w.Origin == argv.OriginNames || !w.Bare && readerText(name, in.Words, i)
	case name == "git" && !w.Bare && gitText(in.Words, i):
		return true
	case w.Origin >= argv.OriginNames && testsFile(s, in, i), w.Origin < argv.OriginNames && namesPart(in, i):
		return true
	case wordlist.Has("gzip zcat xz bzip2 zstd brotli pigz", name):
		return w.Origin >= argv.OriginNames && slices.ContainsFunc(in.Words[1:], func(f argv.Field) bool { return f.Known() && packsToOutput.MatchString(f.Text) })
	case wordlist.Has(operands.Checkers, name) || wordlist.Has("npx bunx", name) && i > 1 && wordlist.Has(operands.Checkers, textAt(in, 1)) || wordlist.Has("php node ruby", name) && i > 1 && wordlist.Has("-l -c --check -wc", textAt(in, 1)):
		return w.Origin == argv.OriginNames
	case w.Within && (name == "sed" || name == "perl" && perlRewrites(in.Words, i) || name == "mv" && !slices.ContainsFunc(in.Words[1:], func(f argv.Field) bool { return !f.Within && !strings.HasPrefix(f.Text, "-") }) || name == "git" && i > 1 && wordlist.Has("mv add diff log show blame", in.Words[1].Text)):
		return true
	case name == "date":
		return !w.Bare && wordlist.Has("-d --date -r", in.Words[i-1].Text)
	case wordlist.Has("rg ag", name) && !w.Bare && firstOperand(in.Words, i), wordlist.Has("rg ag", name) && w.Stdin && w.Origin >= argv.OriginNames:
		return true
	case looksAt(name, in.Words, i):
		return true
	case name == "curl":
		return toLoopback(in.Words, i) && !slices.ContainsFunc(in.Words, func(f argv.Field) bool { return strings.HasPrefix(strings.TrimPrefix(f.Text, "-d"), "@") })
	case name == "go" && i > 1 && wordlist.Has("test vet build list", in.Words[1].Text):
		return w.Origin >= argv.OriginNames && strings.HasPrefix(w.Text, "./") && !strings.Contains(w.Text, "..$") || takesText(in.Words, name, i)
	case wordlist.Has("redis-cli valkey-cli", name) && databases.ReadsKey(in.Words, i), wordlist.Has("docker podman nerdctl docker-compose", name) && withinContainer(in.Words, i):
		return true
	case wordlist.Has("psql mysql mongosh redis-cli", name):
		return ownAddress(s, w)
	case name == "git" && !w.Bare && i > 1 && wordlist.Has("rev-parse show-ref rev-list merge-base describe name-rev", in.Words[1].Text) && beginsPlainly(w):
		return true
	case name == "git" && !w.Bare && i > 1 && wordlist.Has(gitLooks, in.Words[1].Text) && afterDashes(in.Words, i):
		return true
	case w.Bare || w.Stdin:
		return wordlist.Has("git rg ag sort", name) && w.Origin == argv.OriginNames && afterDashes(in.Words, i)
	case takesText(in.Words, name, i), w.Origin >= argv.OriginText && readsText(in.Words, name, i):
		return true
	case len(in.Roots) == 0 && (w.Origin >= argv.OriginText || i > 1 && wordlist.Has(valueOptions, in.Words[i-1].Text) || plainSetting.MatchString(w.Text)):
		return (i > 1 && wordlist.Has(valueOptions, in.Words[i-1].Text) || plainSetting.MatchString(w.Text)) && !ownRunner.MatchString(in.Name()) && ownProgram(s, in.Words[:i]) || w.Origin == argv.OriginNames && wordlist.Has("git rg ag sort", name) && afterDashes(in.Words, i)
	case wordlist.Has("git rg ag sort", name):
		return w.Origin == argv.OriginNames && afterDashes(in.Words, i)
	}
	return false
}

// inScratch reports whether the word at i names a file for temporary use to a program that
// takes it for the name of a file, whichever of these it is.
func inScratch(s *shell.Shell, in shell.Invocation, i int) bool {
	w := in.Words[i]
	text, ok := argv.Pattern(w)
	if !ok || w.Bare || w.Glob || !strings.HasPrefix(text, "/tmp/") || strings.Contains(text, "..") {
		return false
	}
	_, takesFiles := operands.Table()[in.Name()]
	return takesFiles && !wordlist.Has("jq yq split zip sort rg", in.Name()) || wordlist.Has(outputs, textAt(in, i-1)) && ownProgram(s, in.Words[:i])
}

var (
	// ownRunner is a program of projects that runs what its words name.
	ownRunner    = lazyregexp.New(`^(gradlew|mvnw|rails|rake|artisan|console|nx|task|just|make|manage|dev|run)\b`)
	plainSetting = lazyregexp.New(`^--[a-z][\w-]*=`)
)

// valueOptions are options of programs of the project that take a value, in all that
// have them.
const valueOptions = "--name --title --message --description --port --host --addr --address --tag --version --date --since --until --from --to --id --count --limit --label --format --output --out --input"

// takesText reports whether the word at i is data to its program, whatever it says: the
// value of an option that names a thing, or sets a variable of a filter.
func takesText(words []argv.Field, name string, i int) bool {
	before := textOf(words, i-1)
	if !wordlist.Has("jq gojq", name) && !isOption(name, words, i-1) {
		return false
	}
	switch name {
	case "awk", "gawk", "mawk":
		return before == "-v" && argv.IsAssignment(words[i]) && !strings.HasPrefix(words[i].Text, "$")
	case "go":
		return wordlist.Has("-run -bench -skip -count -timeout", before) && !words[i].Bare
	case "jq", "gojq":
		return i > 2 && wordlist.Has("--arg --argjson", words[i-2].Text)
	case "docker", "podman", "nerdctl", "buildah":
		return wordlist.Has("-t --tag --build-arg --label", before) && slices.ContainsFunc(words[1:i], func(f argv.Field) bool { return wordlist.Has("build buildx bake", f.Text) })
	}
	return false
}

// readsText reports whether a program reads the word at i as code: what a file of the
// project says there is as safe as the project.
func readsText(words []argv.Field, name string, i int) bool {
	before := textOf(words, i-1)
	switch name {
	case "sed", "gsed":
		return words[i].Substitutes()
	case "awk", "gawk", "mawk", "jq", "gojq":
		return !strings.HasPrefix(before, "-") || wordlist.Has("-r -e -c -s -rc", before)
	case "go":
		return wordlist.Has("-ldflags -tags", before) || strings.HasPrefix(words[i].Text, "-ldflags=") || strings.HasPrefix(words[i].Text, "-X ")
	case "sqlite3":
		return i > 1
	}
	return false
}

// ownProgram reports whether words begin a command that runs a program of the project.
func ownProgram(s *shell.Shell, words []argv.Field) bool {
	file := words[0]
	if _, interprets := findInterpreter(path.Base(file.Text)); interprets {
		at := slices.IndexFunc(words[1:], func(f argv.Field) bool { return !strings.HasPrefix(f.Text, "-") })
		if at < 0 || !scriptName.MatchString(words[1+at].Text) || slices.ContainsFunc(words[1:1+at], func(f argv.Field) bool { return wordlist.Has("-c -e -p -r -m --eval --print", f.Text) }) {
			return false
		}
		file = words[1+at]
	} else if !strings.Contains(file.Text, "/") {
		return false
	}
	if !file.Sure() || file.Glob || len(s.Dirs) != 1 || s.Remote || strings.HasPrefix(file.Text, "~") {
		return false
	}
	return s.Found.Project(collect.JoinAny(s.Dirs[0], file.Text), false)
}

// scriptName is the name of a script.
var scriptName = lazyregexp.New(`^[\w./-]+\.(py|js|mjs|cjs|ts|mts|rb|php|pl|lua|exs|r|R|jl)$`)

// packsToOutput are options with which a packer writes no file.
var packsToOutput = lazyregexp.New(`^(-[0-9a-z]*c[0-9a-z]*|--stdout|--to-stdout)$`)

// pidFile is a file in which the number of a process stands.
var pidFile = lazyregexp.New(`^(\$\(cat |\$\(< ?|` + "`" + `cat )["']?(/tmp/[\w.-]+|(?:[\w-]+/)*[\w-]+\.pid)["']?[)` + "`" + `]$`)

// ownProcess reports whether a word is the number of a process that the line itself has
// started: the line, or a server that it was told to, has put it into a file.
func ownProcess(s *shell.Shell, w argv.Field) bool {
	if len(w.Dynamic) != 1 || w.Text != w.Dynamic[0] {
		return false
	}
	m := pidFile.FindStringSubmatch(w.Text)
	if m == nil {
		return false
	}
	if at, ok := s.FileAt(argv.Field{Text: m[2]}); ok {
		if version, own := s.Found.Pids[at]; own && version == s.Found.Version(at) {
			return true
		}
	}
	return slices.ContainsFunc(s.Found.Facts.Commands, func(c holdgate.Command) bool {
		for i, a := range c.Argv {
			option, value, glued := strings.Cut(a, "=")
			switch {
			case glued && value == m[2] && pidOption.MatchString(option), i > 1 && a == m[2] && pidOption.MatchString(c.Argv[i-1]):
				return true
			}
		}
		return false
	})
}

// pidOption is an option, or a setting, behind which a server is told where to put its number.
var pidOption = lazyregexp.New(`(?i)^-.*pid.*$|^pid$|^-[pP]$`)

// beginsPlainly reports whether a word begins with text that is known, and is no option.
func beginsPlainly(w argv.Field) bool {
	return !w.Stdin && len(w.Dynamic) > 0 && plainBeginning.MatchString(w.Text) && !strings.HasPrefix(w.Text, w.Dynamic[0])
}

var plainBeginning = lazyregexp.New(`^[\w./@%^]`)

// testVerbs are subcommands of tools that run the project's tests, or look at its code.
const testVerbs = "test tests t lint check vet analyze build compile typecheck format fmt bench doc nextest clippy"

// testsFile reports whether the word at i names a file or a folder to a tool that runs
// the project's tests, or looks at its code: its files may run all the same.
func testsFile(s *shell.Shell, in shell.Invocation, i int) bool {
	words := in.Words[1:i]
	if len(words) > 1 && wordlist.Has("python python3 npx bunx pnpm yarn bundle poetry uv hatch pdm dotnet mix rails bin/rails", in.Name()) && wordlist.Has("-m exec run", words[0].Text) {
		words = words[1:]
		return len(words) > 0 && words[0].Known() && (wordlist.Has(operands.Checkers, words[0].Text) || wordlist.Has(testVerbs+" unittest tox nox pyflakes pycodestyle pydocstyle py_compile json.tool coverage doctest bandit vulture radon", words[0].Text))
	}
	if _, tool := tools[in.Name()]; !tool && !wordlist.Has("flutter dart go cargo swift mix gradle mvn bun deno dotnet zig stack cabal elixir", in.Name()) {
		return false
	}
	return slices.ContainsFunc(words, func(f argv.Field) bool { return f.Known() && wordlist.Has(testVerbs, f.Text) })
}

// partOptions are options of builds whose value names a part of the project, or picks
// some of its tests.
const partOptions = "--filter -F --workspace -w --package -p --scope --tests --testNamePattern -t --grep -g -k --features --bin --example --test --target"

// namesPart reports whether the word at i is the value of such an option, by itself.
func namesPart(in shell.Invocation, i int) bool {
	w, before := in.Words[i], in.Words[i-1].Text
	pytest := wordlist.Has("python python3", in.Name()) && textAt(in, 1) == "-m" && wordlist.Has("pytest unittest", textAt(in, 2))
	return !w.Bare && !w.Stdin && i > 1 && wordlist.Has(partOptions, before) && isOption(in.Name(), in.Words, i-1) &&
		(pytest || wordlist.Has("npm pnpm yarn bun turbo nx lerna cargo go swift pytest jest vitest mocha playwright mix", in.Name()))
}

// gitLooks are subcommands of git that only look. Behind "--" no word of theirs is an
// option.
const gitLooks = "grep log blame show diff ls-tree ls-files rev-list shortlog diff-tree whatchanged annotate cat-file"

// addressVariable is the whole of a word that holds the address of a database.
var addressVariable = lazyregexp.New(`^\$\{?(\w+_(?:URL|URI|DSN))\}?$`)

// ownAddress reports whether a word is the address of the project's database, as the
// environment has it and the line leaves it.
func ownAddress(s *shell.Shell, w argv.Field) bool {
	m := addressVariable.FindStringSubmatch(w.Text)
	if m == nil || s.Wild || w.Bare && w.Runs {
		return false
	}
	_, set := s.Vars[m[1]]
	return !set
}

// firstOperand reports whether all words before the one at i are options of a
// search, so that it is what is looked for.
func firstOperand(words []argv.Field, i int) bool {
	return !slices.ContainsFunc(words[1:i], func(f argv.Field) bool {
		return !strings.HasPrefix(f.Text, "-") || wordlist.Has("-e -f -g -t --pre", f.Text)
	})
}

// textAt is the text of the word at i, or nothing.
func textAt(in shell.Invocation, i int) string { return textOf(in.Words, i) }

func textOf(words []argv.Field, i int) string {
	if i < len(words) {
		return words[i].Text
	}
	return ""
}

// afterDashes reports whether "--" stands before the word at i: then it is no
// option.
func afterDashes(words []argv.Field, i int) bool {
	return slices.ContainsFunc(words[:i], func(f argv.Field) bool { return f.Text == "--" })
}

// readerText reports whether the word at i of a reader names no file: it is
// the value of an option, or the pattern that grep looks for.
func readerText(name string, words []argv.Field, i int) bool {
	before := words[i-1].Text
	if wordlist.Has("-n -c -d -f -s -w -m -A -B -C -e --include --exclude --exclude-dir --color --lines", before) && isOption(name, words, i-1) {
		return before != "-f" || name == "cut"
	}
	if strings.HasPrefix(words[i].Text, "--include=") || strings.HasPrefix(words[i].Text, "--exclude") {
		return true
	}
	if !wordlist.Has(operands.PatternReaders, name) {
		return false
	}
	for _, w := range words[1:i] {
		if !strings.HasPrefix(w.Text, "-") || w.Text == "-e" || w.Text == "-f" {
			return false
		}
	}
	return true
}

// gitText reports whether the word at i of a git command is the value of an
// option that takes text: a message, a name, a date, what log looks for.
func gitText(words []argv.Field, i int) bool {
	j := 1
	for j+2 < len(words) && (words[j].Text == "-C" || words[j].Text == "-c") {
		j += 2
	}
	if j >= i {
		return false
	}
	const text = "--message --author --date --trailer --grep --since --until --after --before --format --pretty"
	verb, before, self := words[j].Text, words[i-1].Text, words[i].Text
	if key, _, ok := strings.Cut(self, "="); ok && wordlist.Has(text, key) {
		return true
	}
	if words[i-1].Known() && strings.HasPrefix(before, "-") && !strings.HasPrefix(self, "-") && !isOption("git", words, i-1) {
		return false
	}
	switch {
	case wordlist.Has(text, before), wordlist.Has("blame annotate", verb) && before == "-L":
		return true
	case wordlist.Has("log show diff rev-list", verb):
		return before == "-S" || before == "-G" || strings.HasPrefix(self, "-S") || strings.HasPrefix(self, "-G")
	case wordlist.Has("commit tag merge stash notes", verb):
		return len(before) > 1 && before[0] == '-' && before[1] != '-' && strings.HasSuffix(before, "m") || strings.HasPrefix(self, "-m") || strings.HasPrefix(self, "-am")
	}
	return false
}

// pathDynamics are the parts of an assignment that depend on run time. What
// PATH held before is none: programs were found there all along.
func pathDynamics(a argv.Field) []string {
	if !strings.HasPrefix(a.Text, "PATH=") {
		return a.Dynamic
	}
	return slices.DeleteFunc(slices.Clone(a.Dynamic), func(d string) bool { return d == "$PATH" || d == "${PATH}" })
}
