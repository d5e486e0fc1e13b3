package facts

import (
	"path"
	"slices"
	"strings"
)

// Environment variables that change what a command runs.
const (
	// codeVariables hold shell text that other programs run.
	codeVariables = "GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS GIT_PROXY_COMMAND PAGER MANPAGER EDITOR VISUAL SSH_ASKPASS SUDO_ASKPASS BROWSER LESSOPEN LESSCLOSE PROMPT_COMMAND RSYNC_RSH CVS_RSH GIT_SSH PS4 SHELL MAKE CC CXX RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER"
	// fileVariables name files that are loaded or run.
	fileVariables = "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH BASH_ENV ENV ZDOTDIR PYTHONSTARTUP PYTHONPATH PYTHONHOME PERL5LIB PERL5DB RUBYLIB NODE_PATH GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM KUBECONFIG INPUTRC VIMINIT JAVA_TOOL_OPTIONS CLASSPATH"
	// optionVariables hold options of an interpreter.
	optionVariables = "NODE_OPTIONS PERL5OPT RUBYOPT PYTHONWARNINGS BASH_FUNC GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT GIT_CONFIG_VALUE_0 VIMINIT MAKEFLAGS TAR_OPTIONS GREP_OPTIONS GOFLAGS RUSTFLAGS"
)

// environment notes what the assignments before a command make it run
// besides.
func (s *shell) environment(in *invocation) {
	for _, a := range in.assigns {
		s.variable(a, in)
	}
	if contains("export declare typeset", in.words[0].text) {
		for _, w := range in.words[1:] {
			s.variable(w, in)
		}
		s.loaded = unique(slices.Concat(s.loaded, in.unbound))
	}
}

// lasting notes an assignment that holds from here on.
func (s *shell) lasting(a field) {
	var in invocation
	s.variable(a, &in)
	s.loaded = unique(slices.Concat(s.loaded, in.unbound))
}

func (s *shell) variable(a field, in *invocation) {
	name, value, ok := strings.Cut(a.text, "=")
	switch {
	case !ok || value == "":
	case contains(codeVariables, name):
		sub := s.sub(append(in.via, name)...)
		sub.made(value, a.dynamic)
	case contains(fileVariables, name):
		in.unbound = append(in.unbound, value)
	case contains(optionVariables, name):
		in.unbound = append(in.unbound, a.text)
	case name == "PATH":
		in.unbound = append(in.unbound, ahead(value)...)
	}
}

// ahead are the folders that a PATH puts before the one that was, but for the
// system's own.
func ahead(value string) []string {
	var dirs []string
	for dir := range strings.SplitSeq(value, ":") {
		if dir == "$PATH" || dir == "${PATH}" {
			return dirs
		}
		if !systemProgram(dir + "/x") {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// systemProgram reports whether a program lies where the system keeps its
// own.
func systemProgram(p string) bool {
	p = path.Clean(p)
	for _, dir := range []string{"/bin/", "/sbin/", "/usr/", "/opt/", "/lib/", "/lib64/", "/System/", "/Applications/", "/snap/", "/nix/store/"} {
		if strings.HasPrefix(p, dir) {
			return true
		}
	}
	return false
}
