package facts

import (
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// Environment variables that change what a command runs.
const (
	// codeVariables hold shell text that other programs run.
	codeVariables = "GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS GIT_PROXY_COMMAND PAGER MANPAGER EDITOR VISUAL SSH_ASKPASS SUDO_ASKPASS BROWSER LESSOPEN LESSCLOSE PROMPT_COMMAND RSYNC_RSH CVS_RSH GIT_SSH PS4 SHELL MAKE CC CXX RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC LD AR AS CPP FC"
	// linkVariables name files that every program loads.
	linkVariables = "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH"
	// fileVariables name files that some programs load or run.
	fileVariables = "BASH_ENV ENV ZDOTDIR PYTHONSTARTUP PYTHONPATH PYTHONHOME PERL5LIB PERL5DB RUBYLIB NODE_PATH GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM KUBECONFIG INPUTRC VIMINIT JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH PYTEST_PLUGINS RIPGREP_CONFIG_PATH GOENV CARGO_HOME"
	// optionVariables hold options of an interpreter or a build.
	optionVariables = "NODE_OPTIONS PERL5OPT RUBYOPT PYTHONWARNINGS BASH_FUNC GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT GIT_CONFIG_VALUE_0 MAKEFLAGS TAR_OPTIONS GREP_OPTIONS GOFLAGS RUSTFLAGS PYTEST_ADDOPTS GNUMAKEFLAGS ZIPOPT MAVEN_OPTS GRADLE_OPTS npm_config_script_shell npm_config_node_options"
)

// javaOptions are options of a virtual machine that say how much memory it takes, and
// how it speaks.
const javaOptions = "-XX:+UseG1GC -XX:+UseParallelGC -XX:+UseZGC -Dorg.gradle.daemon= -Dfile.encoding= -Duser.timezone= -Duser.language= -Djava.awt.headless= -Dorg.slf4j.simpleLogger.defaultLogLevel="

// memoryOption is the size of a virtual machine's memory.
var memoryOption = regexp.MustCompile(`^-(Xm[xs]|Xss|XX:MaxMetaspaceSize=|XX:MaxRAMPercentage=)[0-9.]+[kKmMgG]?$`)

// harmlessOptions are the words that stand in the variables that hold options
// every day, and load and run nothing. One that ends in a dash or an equals
// sign is the beginning of a word.
var harmlessOptions = map[string]string{
	"NODE_OPTIONS":   "--max- --no-warnings --trace- --enable-source-maps --unhandled-rejections --dns-result-order --experimental-vm-modules --experimental-strip-types --experimental-test- --experimental-json --experimental-fetch --openssl-legacy-provider --stack-size",
	"GOFLAGS":        "-mod=mod -mod=vendor -mod=readonly -v -x -race -count= -p= -tags= -trimpath -buildvcs= -short",
	"RUSTFLAGS":      "-D -W -A -C -Dwarnings target-cpu= opt-level= debuginfo= warnings",
	"PYTEST_ADDOPTS": "-q -v -vv -x -s -l -ra --tb= --color= --maxfail= --durations= --no-header",
	"MAKEFLAGS":      "-j -s -k --no-print-directory --silent",
	"RUBYOPT":        "-W0 -W1 -W2 -w --yjit",
	"MAVEN_OPTS":     javaOptions,
	"GRADLE_OPTS":    javaOptions,
	"PYTHONWARNINGS": "ignore default error always",
}

// environment notes what the assignments before a command make it run
// besides, and keeps what export and its like hand to later commands.
func (s *shell) environment(in *invocation) {
	for _, a := range in.assigns {
		s.runsValue(a, in.via)
	}
	name := in.words[0].text
	if !wordlist.Has("export declare typeset", name) {
		return
	}
	flags := ""
	for _, w := range in.words[1:] {
		if strings.HasPrefix(w.text, "-") {
			flags += w.text
			continue
		}
		if name != "export" && !strings.Contains(flags, "x") && !steers(w) {
			continue
		}
		if strings.Contains(flags, "n") && name == "export" {
			s.unexport(w.text)
			continue
		}
		s.runsValue(w, in.via)
		s.export(s.exported(w))
	}
}

// exported is a word of export as an assignment: a name alone stands for what
// the variable holds.
func (s *shell) exported(w field) field {
	v, assigned := s.vars[w.text]
	switch {
	case isAssignment(w) || !assigned:
		return w
	case v.known && len(v.values) > 0:
		return field{text: w.text + "=" + v.values[0]}
	}
	return field{text: w.text + "=$" + w.text, dynamic: []string{"$" + w.text}, origin: v.origin}
}

// lasting notes an assignment that holds from here on.
func (s *shell) lasting(a field) {
	s.runsValue(a, nil)
	name, _, _ := strings.Cut(a.text, "=")
	if s.exportsAll || steers(a) || slices.ContainsFunc(s.env, func(e field) bool { return strings.HasPrefix(e.text, name+"=") }) {
		s.export(a)
	}
}

// export hands a variable to all later commands. In a branch, its value may
// be the one or the other.
func (s *shell) export(a field) {
	name, _, ok := strings.Cut(a.text, "=")
	if !ok || name == "" {
		return
	}
	if s.conditional > 0 && a.known() && slices.ContainsFunc(s.env, func(e field) bool { return strings.HasPrefix(e.text, name+"=") && e.text != a.text }) {
		a.dynamic = []string{"$" + name}
	}
	s.env = s.overlaid(s.env, a)
}

func (s *shell) unexport(name string) {
	s.env = slices.DeleteFunc(slices.Clone(s.env), func(e field) bool { return strings.HasPrefix(e.text, name+"=") })
}

// overlaid is a list of assignments in which a later one takes the place of
// an earlier one of the same name, unless it builds on that one
// (PATH=/x:$PATH). The list itself stays as it is.
func (s *shell) overlaid(list []field, more ...field) []field {
	out := slices.Clone(list)
	for _, a := range more {
		s.x.Work(len(out) / 8)
		name, value, ok := strings.Cut(a.text, "=")
		if !ok {
			continue
		}
		if strings.Contains(value, "$"+name) || strings.Contains(value, "${"+name) {
			out = append(out, a)
			continue
		}
		out = slices.DeleteFunc(out, func(e field) bool { return strings.HasPrefix(e.text, name+"=") })
		out = append(out, a)
	}
	return out
}

// variables are the assignments of the environment as facts.
func variables(env []field) []Variable {
	var out []Variable
	for _, a := range env {
		name, value, _ := strings.Cut(a.text, "=")
		out = append(out, Variable{Name: name, Value: value, Unresolved: !a.known()})
	}
	return out
}

// runsValue follows the shell text that a variable holds for other programs.
func (s *shell) runsValue(a field, via []string) {
	name, value, ok := strings.Cut(a.text, "=")
	if ok && value != "" && (wordlist.Has(codeVariables, name) || cargoRuns(name)) {
		s.sub(append(slices.Clip(via), name)...).made(value, a.dynamic)
	}
}

// cargoRuns reports whether a variable names a program that cargo runs, as
// CARGO_TARGET_<triple>_RUNNER does.
func cargoRuns(name string) bool {
	last := name[strings.LastIndex(name, "_")+1:]
	return strings.HasPrefix(name, "CARGO_") && wordlist.Has("RUNNER LINKER RUSTC WRAPPER RUSTDOC", last)
}

// loads are the files that a program runs besides, because a variable of its
// environment says so.
func loads(program string, a field) []string {
	name, value, ok := strings.Cut(a.text, "=")
	plain := wordlist.Has(textPrograms, program) || wordlist.Has(readers, program) || wordlist.Has("cd export", program)
	switch {
	case !ok || value == "":
	case name == "PATH":
		return ahead(value)
	case wordlist.Has(linkVariables, name):
		return []string{value}
	case plain: // it reads no variable that some program reads
	case wordlist.Has("JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS", name) && harmless("MAVEN_OPTS", value), name == "XDG_CACHE_HOME":
	case wordlist.Has("PYTHONPATH PERL5LIB RUBYLIB NODE_PATH CLASSPATH", name):
		return strings.FieldsFunc(value, func(r rune) bool { return r == ':' })
	case wordlist.Has(fileVariables, name):
		return []string{value}
	case wordlist.Has(optionVariables, name) && !harmless(name, value):
		return []string{a.text}
	case pointer.MatchString(name) && leadsOut(value) && !collect.SystemProgram(value):
		return []string{value}
	}
	return nil
}

// pointer is the name of a variable that leads to settings, or to where a program
// keeps the code that it runs.
var pointer = regexp.MustCompile(`(?i)_HOME$|_CONFIG$|CONFIG_(FILE|DIR|PATH)$|(USER|GLOBAL)CONFIG$|GEMFILE$|_?RC_?FILE$|_PRELOAD$|_TOOLCHAIN$|PLUGINS?_(DIR|PATH)$|INIT_SCRIPT$|SERVICEFILE$`)

func harmless(name, value string) bool {
	for word := range strings.FieldsSeq(value) {
		known := name != "RUBYOPT" && memoryOption.MatchString(word)
		for start := range strings.FieldsSeq(harmlessOptions[name]) {
			open := strings.HasSuffix(start, "-") || strings.HasSuffix(start, "=")
			known = known || word == start || open && strings.HasPrefix(word, start) || start == "-j" && strings.TrimRight(word, "0123456789") == start
		}
		if !known {
			return false
		}
	}
	return true
}

// ahead are the folders that a PATH puts before the one that was, but for the
// system's own.
func ahead(value string) []string {
	var dirs []string
	for dir := range strings.SplitSeq(value, ":") {
		if dir == "$PATH" || dir == "${PATH}" {
			return dirs
		}
		if !collect.SystemProgram(dir+"/x") && !collect.ToolFolder.MatchString(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
