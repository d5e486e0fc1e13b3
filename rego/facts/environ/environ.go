// Package environ knows the variables of the environment that change what programs run:
// those that hold commands, name files that are loaded, or hold options of interpreters
// and builds.
package environ

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/operands"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

const (
	// codeVariables hold shell text that other programs run.
	codeVariables = "GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS GIT_PROXY_COMMAND PAGER MANPAGER EDITOR VISUAL SSH_ASKPASS SUDO_ASKPASS BROWSER LESSOPEN LESSCLOSE PROMPT_COMMAND RSYNC_RSH CVS_RSH GIT_SSH PS4 SHELL MAKE CC CXX RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC LD AR AS CPP FC"
	// linkVariables name files that every program loads.
	linkVariables = "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH"
	// fileVariables name files that some programs load or run.
	fileVariables = "BASH_ENV ENV ZDOTDIR PYTHONSTARTUP PYTHONPATH PYTHONHOME PERL5LIB PERL5DB RUBYLIB NODE_PATH GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM KUBECONFIG INPUTRC VIMINIT JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH PYTEST_PLUGINS RIPGREP_CONFIG_PATH GOENV GOROOT GOTOOLDIR PHPRC PHP_INI_SCAN_DIR R_PROFILE R_PROFILE_USER R_ENVIRON R_ENVIRON_USER PPROF_TOOLS CARGO_HOME " + compilerVariables
	// compilerVariables say where compilers look for headers, libraries and their own parts.
	compilerVariables = "CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH OBJC_INCLUDE_PATH COMPILER_PATH GCC_EXEC_PREFIX LIBRARY_PATH"
	// optionVariables hold options of an interpreter or a build.
	optionVariables = "NODE_OPTIONS PERL5OPT RUBYOPT PYTHONWARNINGS BASH_FUNC GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT GIT_CONFIG_VALUE_0 MAKEFLAGS TAR_OPTIONS GREP_OPTIONS GOFLAGS RUSTFLAGS PYTEST_ADDOPTS GNUMAKEFLAGS ZIPOPT MAVEN_OPTS GRADLE_OPTS npm_config_script_shell npm_config_node_options LUA_INIT LUA_INIT_5_1 LUA_INIT_5_2 LUA_INIT_5_3 LUA_INIT_5_4"
)

// javaOptions are options of a virtual machine that say how much memory it takes, and
// how it speaks.
const javaOptions = "-XX:+UseG1GC -XX:+UseParallelGC -XX:+UseZGC -Dorg.gradle.daemon= -Dfile.encoding= -Duser.timezone= -Duser.language= -Djava.awt.headless= -Dorg.slf4j.simpleLogger.defaultLogLevel="

// memoryOption is the size of a virtual machine's memory.
var memoryOption = lazyregexp.New(`^-(Xm[xs]|Xss|XX:MaxMetaspaceSize=|XX:MaxRAMPercentage=)[0-9.]+[kKmMgG]?$`)

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

// Steers reports whether a variable can change what programs run, whichever they are.
func Steers(name string) bool {
	return name == "PATH" || name == "IFS" || HoldsCode(name) || NamesFiles(name) || wordlist.Has(linkVariables, name) || wordlist.Has(optionVariables, name)
}

// HoldsCode reports whether a variable holds shell text that other programs run.
func HoldsCode(name string) bool { return wordlist.Has(codeVariables, name) }

// NamesFiles reports whether a variable names files that some programs load or run.
func NamesFiles(name string) bool { return wordlist.Has(fileVariables, name) }

// RunsText reports whether a program runs what a variable holds, cargo's included.
func RunsText(name string) bool { return HoldsCode(name) || cargoRuns(name) }

// cargoRuns reports whether a variable names a program that cargo runs, as
// CARGO_TARGET_<triple>_RUNNER does.
func cargoRuns(name string) bool {
	last := name[strings.LastIndex(name, "_")+1:]
	return strings.HasPrefix(name, "CARGO_") && wordlist.Has("RUNNER LINKER RUSTC WRAPPER RUSTDOC", last)
}

// Loads are the files that a program runs besides, because an assignment of its
// environment (NAME=value) says so; of a variable that holds options, the assignment.
func Loads(program, assignment string) []string {
	name, value, ok := strings.Cut(assignment, "=")
	plain := wordlist.Has(operands.TextPrograms, program) || wordlist.Has(operands.Readers, program) || wordlist.Has("cd export", program)
	switch {
	case !ok || value == "":
	case name == "PATH":
		return ahead(value)
	case wordlist.Has(linkVariables, name):
		return []string{value}
	case plain: // it reads no variable that some program reads
	case wordlist.Has("JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS", name) && harmless("MAVEN_OPTS", value), name == "XDG_CACHE_HOME":
	case wordlist.Has(compilerVariables, name):
		return slices.DeleteFunc(strings.FieldsFunc(value, func(r rune) bool { return r == ':' }), func(dir string) bool {
			return collect.SystemProgram(dir+"/x") || dir == "$"+name || strings.HasPrefix(dir, "${"+name)
		})
	case wordlist.Has("PYTHONPATH PERL5LIB RUBYLIB NODE_PATH CLASSPATH", name):
		return strings.FieldsFunc(value, func(r rune) bool { return r == ':' })
	case wordlist.Has(fileVariables, name):
		return []string{value}
	case wordlist.Has(optionVariables, name) && !harmless(name, value):
		return []string{assignment}
	case pointer.MatchString(name) && collect.LeadsOut(value) && !collect.SystemProgram(value):
		return []string{value}
	}
	return nil
}

// pointer is the name of a variable that leads to settings, or to where a program
// keeps the code that it runs.
var pointer = lazyregexp.New(`(?i)_HOME$|_CONFIG$|CONFIG_(FILE|DIR|PATH)$|(USER|GLOBAL)CONFIG$|GEMFILE$|_?RC_?FILE$|_PRELOAD$|_TOOLCHAIN$|PLUGINS?_(DIR|PATH)$|INIT_SCRIPT$|SERVICEFILE$`)

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

// passesThrough is a folder that anybody may write to, or below one: no tools of the
// project's lie there.
var passesThrough = lazyregexp.New(`^(/private)?/(tmp|var/tmp|dev/shm)(/|$)`)

// ahead are the folders that a PATH puts before the one that was, but for the
// system's own.
func ahead(value string) []string {
	var dirs []string
	for dir := range strings.SplitSeq(value, ":") {
		if dir == "$PATH" || dir == "${PATH}" {
			return dirs
		}
		if !collect.SystemProgram(dir+"/x") && !(collect.ToolFolder.MatchString(dir) && !passesThrough.MatchString(dir)) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
