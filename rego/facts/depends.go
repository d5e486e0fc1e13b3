package facts

import (
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// What a command does depends on a word of run time where the word could be
// the program, an option, code, or a path that is written or deleted. Where
// it can only be text, or name what a harmless reader reads, nothing hangs on
// it, and it is not unresolved.

const (
	// textPrograms print their words, or compare them.
	textPrograms = "echo printf true false : exit return test [ sleep wait seq expr dirname basename"
	// lookingPrograms say that something is there, or what lies there, and show none of
	// its content.
	lookingPrograms = "ls stat realpath readlink which type"
	// readers have no option that runs, writes or deletes. Theirs are the
	// files that they read.
	readers = "cat tac head tail wc nl cut paste join comm diff cmp ls stat file du df grep egrep fgrep zgrep rev fold fmt column " +
		"hexdump strings md5sum sha1sum sha256sum sha512sum cksum readlink realpath basename dirname which type tr shellcheck"
	// checkers are linters, formatters and test runners. What they could do to a
	// file by a name that reads as an option, the project's own code can do too.
	checkers = "eslint prettier biome oxlint stylelint tsc black isort ruff flake8 mypy pylint pyright pytest gofmt goimports gofumpt golangci-lint rustfmt clang-format clang-tidy cppcheck " +
		"rubocop standardrb rspec phpcs php-cs-fixer phpstan phpunit ktlint google-java-format swiftformat swiftlint hlint ormolu jest vitest yamllint markdownlint hadolint codespell shfmt " +
		"identify exiftool ffprobe mediainfo pdfinfo xmllint jsonlint bat batcat pyflakes luacheck selene ktlint detekt clj-kondo actionlint sqlfluff protolint optipng typos vale bats"
	// patternReaders are the readers whose first operand is text.
	patternReaders = "grep egrep fgrep zgrep tr"
)

// depends lists what the command depends on of its words.
func (s *shell) depends(in invocation, program string) []string {
	var out []string
	for i, w := range in.words {
		switch {
		case w.known() && w.runs:
			out = append(out, w.text)
		case w.known():
		case i > 0 && !w.runs && s.indifferent(in, i):
		case w.stdin:
			out = append(out, "stdin")
		default:
			out = append(out, w.dynamic...)
		}
		if i == 0 && !w.stdin && (program == "" && w.known() || w.glob) {
			out = append(out, w.text)
		}
	}
	out = append(out, s.runningNames(in)...)
	for _, a := range s.overlaid(s.env, in.assigns...) {
		if steers(a) && (program == "" || len(loads(program, a)) > 0 || slices.Contains(texts(in.assigns), a.text)) {
			out = append(out, pathDynamics(a)...)
		}
	}
	return slices.Concat(out, s.opened, s.taint)
}

// indifferent reports whether the command does the same whatever the word at
// i, which depends on run time, turns out to be.
func (s *shell) indifferent(in invocation, i int) bool {
	w, name := in.words[i], in.name()
	switch {
	case name == "kill":
		return w.origin == originOwn || w.origin == originAtom && in.words[1].text == "-0" || s.ownProcess(w)
	case wordlist.Has(lookingPrograms, name), name == "command" && wordlist.Has("-v -V", in.words[1].text) && i > 1:
		return true
	case wordlist.Has(textPrograms, name):
		return !slices.ContainsFunc(in.words, func(f field) bool { return f.text == "-v" })
	case wordlist.Has("export declare local readonly typeset", name):
		return isAssignment(w) && (!steers(w) || len(pathDynamics(w)) == 0)
	case s.here(w).known():
		return true
	case w.origin >= originValue && name != "cd" && name != "pushd":
		return true
	case name == "cd" || name == "pushd":
		return w.origin >= originValue && !strings.Contains(w.text, "..")
	case wordlist.Has(readers, name):
		return w.origin == originNames || !w.bare && readerText(name, in.words, i)
	case name == "git" && !w.bare && gitText(in.words, i):
		return true
	case w.origin >= originNames && s.testsFile(in, i), w.origin < originNames && namesPart(in, i):
		return true
	case wordlist.Has("gzip zcat xz bzip2 zstd brotli pigz", name):
		return w.origin >= originNames && slices.ContainsFunc(in.words[1:], func(f field) bool { return f.known() && packsToOutput.MatchString(f.text) })
	case wordlist.Has(checkers, name) || wordlist.Has("npx bunx", name) && i > 1 && wordlist.Has(checkers, textAt(in, 1)) || wordlist.Has("php node ruby", name) && i > 1 && wordlist.Has("-l -c --check -wc", textAt(in, 1)):
		return w.origin == originNames
	case w.within && (name == "sed" || name == "mv" && !slices.ContainsFunc(in.words[1:], func(f field) bool { return !f.within && !strings.HasPrefix(f.text, "-") }) || name == "git" && i > 1 && wordlist.Has("mv add diff log show blame", in.words[1].text)):
		return true
	case name == "date":
		return !w.bare && wordlist.Has("-d --date -r", in.words[i-1].text)
	case wordlist.Has("rg ag", name) && !w.bare && firstOperand(in.words, i), wordlist.Has("rg ag", name) && w.stdin && w.origin >= originNames:
		return true
	case looksAt(name, in.words, i):
		return true
	case name == "curl":
		return toLoopback(in.words, i)
	case name == "go" && i > 1 && wordlist.Has("test vet build list", in.words[1].text):
		return w.origin >= originNames && strings.HasPrefix(w.text, "./") && !strings.Contains(w.text, "..$")
	case wordlist.Has("psql mysql mongosh redis-cli", name):
		return s.ownAddress(w)
	case name == "git" && !w.bare && i > 1 && wordlist.Has(gitLooks, in.words[1].text) && afterDashes(in.words, i):
		return true
	case wordlist.Has("git rg ag sort", name):
		return w.origin == originNames && afterDashes(in.words, i)
	}
	return false
}

// packsToOutput are options with which a packer writes no file.
var packsToOutput = regexp.MustCompile(`^(-[0-9a-z]*c[0-9a-z]*|--stdout|--to-stdout)$`)

// pidFile is a file in which the number of a process stands.
var pidFile = regexp.MustCompile(`^(\$\(cat |\$\(< ?|` + "`" + `cat )["']?(/tmp/[\w.-]+|(?:[\w-]+/)*[\w-]+\.pid)["']?[)` + "`" + `]$`)

// ownProcess reports whether a word is the number of a process that the line itself has
// started: the line, or a server that it was told to, has put it into a file.
func (s *shell) ownProcess(w field) bool {
	if len(w.dynamic) != 1 || w.text != w.dynamic[0] {
		return false
	}
	m := pidFile.FindStringSubmatch(w.text)
	if m == nil {
		return false
	}
	return s.x.Temporary[m[2]] || slices.ContainsFunc(s.x.Facts.Commands, func(c Command) bool {
		return c.Program != "kill" && c.Program != "cat" && slices.ContainsFunc(c.Argv[1:], func(a string) bool { return a == m[2] || strings.HasSuffix(a, "="+m[2]) })
	})
}

// testVerbs are subcommands of tools that run the project's tests, or look at its code.
const testVerbs = "test tests t lint check vet analyze build compile typecheck format fmt bench doc nextest clippy"

// testsFile reports whether the word at i names a file or a folder to a tool that runs
// the project's tests, or looks at its code: its files may run all the same.
func (s *shell) testsFile(in invocation, i int) bool {
	words := in.words[1:i]
	if len(words) > 1 && wordlist.Has("python python3 npx bunx pnpm yarn bundle poetry uv hatch pdm dotnet mix rails bin/rails", in.name()) && wordlist.Has("-m exec run", words[0].text) {
		words = words[1:]
		return len(words) > 0 && words[0].known() && (wordlist.Has(checkers, words[0].text) || wordlist.Has(testVerbs+" unittest tox nox pyflakes pycodestyle pydocstyle py_compile json.tool coverage doctest bandit vulture radon", words[0].text))
	}
	if _, tool := tools[in.name()]; !tool && !wordlist.Has("flutter dart go cargo swift mix gradle mvn bun deno dotnet zig stack cabal elixir", in.name()) {
		return false
	}
	return slices.ContainsFunc(words, func(f field) bool { return f.known() && wordlist.Has(testVerbs, f.text) })
}

// partOptions are options of builds whose value names a part of the project, or picks
// some of its tests.
const partOptions = "--filter -F --workspace -w --package -p --scope --tests --testNamePattern -t --grep -g -k --features --bin --example --test --target"

// namesPart reports whether the word at i is the value of such an option, by itself.
func namesPart(in invocation, i int) bool {
	w, before := in.words[i], in.words[i-1].text
	return !w.bare && !w.stdin && i > 1 && wordlist.Has(partOptions, before) &&
		wordlist.Has("npm pnpm yarn bun turbo nx lerna cargo go swift pytest jest vitest mocha playwright mix", in.name())
}

// gitLooks are subcommands of git that only look. Behind "--" no word of theirs is an
// option.
const gitLooks = "grep log blame show diff ls-tree ls-files rev-list shortlog diff-tree whatchanged annotate cat-file"

// addressVariable is the whole of a word that holds the address of a database.
var addressVariable = regexp.MustCompile(`^\$\{?(\w+_(?:URL|URI|DSN))\}?$`)

// ownAddress reports whether a word is the address of the project's database, as the
// environment has it and the line leaves it.
func (s *shell) ownAddress(w field) bool {
	m := addressVariable.FindStringSubmatch(w.text)
	if m == nil || s.wild || w.bare && w.runs {
		return false
	}
	_, set := s.vars[m[1]]
	return !set
}

// firstOperand reports whether all words before the one at i are options of a
// search, so that it is what is looked for.
func firstOperand(words []field, i int) bool {
	return !slices.ContainsFunc(words[1:i], func(f field) bool {
		return !strings.HasPrefix(f.text, "-") || wordlist.Has("-e -f -g -t --pre", f.text)
	})
}

// textAt is the text of the word at i, or nothing.
func textAt(in invocation, i int) string { return textOf(in.words, i) }

func textOf(words []field, i int) string {
	if i < len(words) {
		return words[i].text
	}
	return ""
}

// afterDashes reports whether "--" stands before the word at i: then it is no
// option.
func afterDashes(words []field, i int) bool {
	return slices.ContainsFunc(words[:i], func(f field) bool { return f.text == "--" })
}

// readerText reports whether the word at i of a reader names no file: it is
// the value of an option, or the pattern that grep looks for.
func readerText(name string, words []field, i int) bool {
	before := words[i-1].text
	if wordlist.Has("-n -c -d -f -s -w -m -A -B -C -e --include --exclude --exclude-dir --color --lines", before) {
		return before != "-f" || name == "cut"
	}
	if strings.HasPrefix(words[i].text, "--include=") || strings.HasPrefix(words[i].text, "--exclude") {
		return true
	}
	if !wordlist.Has(patternReaders, name) {
		return false
	}
	for _, w := range words[1:i] {
		if !strings.HasPrefix(w.text, "-") || w.text == "-e" || w.text == "-f" {
			return false
		}
	}
	return true
}

// gitText reports whether the word at i of a git command is the value of an
// option that takes text: a message, a name, a date, what log looks for.
func gitText(words []field, i int) bool {
	j := 1
	for j+2 < len(words) && (words[j].text == "-C" || words[j].text == "-c") {
		j += 2
	}
	if j >= i {
		return false
	}
	const text = "--message --author --date --trailer --grep --since --until --after --before --format --pretty"
	verb, before, self := words[j].text, words[i-1].text, words[i].text
	if key, _, ok := strings.Cut(self, "="); ok && wordlist.Has(text, key) {
		return true
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

// steers reports whether an assignment changes what commands run.
func steers(a field) bool {
	name, _, _ := strings.Cut(a.text, "=")
	return name == "PATH" || name == "IFS" || wordlist.Has(codeVariables, name) || wordlist.Has(linkVariables, name) || wordlist.Has(fileVariables, name) || wordlist.Has(optionVariables, name)
}

// pathDynamics are the parts of an assignment that depend on run time. What
// PATH held before is none: programs were found there all along.
func pathDynamics(a field) []string {
	if !strings.HasPrefix(a.text, "PATH=") {
		return a.dynamic
	}
	return slices.DeleteFunc(slices.Clone(a.dynamic), func(d string) bool { return d == "$PATH" || d == "${PATH}" })
}

// here turns a word that begins with the folder at hand, as the shell would
// print it, into one that is relative to it.
func (s *shell) here(f field) field {
	if len(f.dynamic) != 1 || f.stdin || s.remote {
		return f
	}
	rest, ok := strings.CutPrefix(f.text, f.dynamic[0])
	if !ok || rest != "" && rest[0] != '/' {
		return f
	}
	switch f.dynamic[0] {
	case "$PWD", "${PWD}":
		if _, assigned := s.vars["PWD"]; assigned || s.wild {
			return f
		}
	case "$(pwd)", "$(pwd -P)", "$(pwd -L)", "`pwd`":
		if s.overridden("pwd") {
			return f
		}
	default:
		return f
	}
	return field{text: "." + rest, glob: f.glob}
}

// atoms writes the parts of a path that are numbers and the like as "*", so
// that what surrounds them tells where it lies. It reports false where other
// parts depend on run time too.
func atoms(f field) (string, bool) {
	if f.known() || f.origin < originAtom || f.stdin {
		return f.text, f.known()
	}
	text := f.text
	for _, d := range f.dynamic {
		text = strings.Replace(text, d, "*", 1)
	}
	return text, true
}
