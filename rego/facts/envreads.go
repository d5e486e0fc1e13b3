package facts

import (
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// ownEnvironment is where a process finds its environment: reading that shows
// every credential in it.
const ownEnvironment = "/proc/self/environ"

var (
	// credentialName is the name of a variable that holds a credential.
	credentialName = regexp.MustCompile(`(?i)(SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?|AUTH)$|^(SECRET|TOKEN)_|_(PAT|KEY|PWD)$`)
	// shownVariable is a variable whose value, or a part of it, stands in a word.
	shownVariable = regexp.MustCompile(`^\$(\w+)$|^\$\{!?(\w+)(\}|:?-|:?=|:?\?|:[ \d]|[%#/^,@])`)
	// jqEnvironment is the environment in a filter of jq, whole or by name.
	jqEnvironment = regexp.MustCompile(`(?:^|[^.\w"$-])(?:env|\$ENV)\b(\.\w+|\["?\w+"?\]|\(\w+\)|\s*:)?|strenv(\(\w+\))`)
	// awkEnvironment is the environment in a program of awk.
	awkEnvironment = regexp.MustCompile(`\bENVIRON\b(\["\w+"\])?`)
	// yqLoads are the files that a filter of yq reads.
	yqLoads = regexp.MustCompile(`\bload\w*\(\s*"([^"]+)"`)
)

// environmentReads notes commands that show the environment, or a credential
// in it.
func (s *shell) environmentReads(name string, in invocation) {
	args := in.words[1:]
	shows := false
	switch name {
	case "set":
		shows = len(args) == 0
	case "export", "declare", "typeset", "readonly", "local":
		flags, names := "", []field(nil)
		for _, w := range args {
			if strings.HasPrefix(w.text, "-") {
				flags += w.text
			} else {
				names = append(names, w)
			}
		}
		shows = len(names) == 0 && name != "local" && strings.Trim(flags, "-pxg") == "" ||
			strings.Contains(flags, "p") && slices.ContainsFunc(names, func(f field) bool { return credentialName.MatchString(f.text) })
	case "npm", "pnpm", "yarn":
		if len(args) > 2 && args[0].text == "pkg" && args[1].text == "set" || len(args) > 1 && args[0].text == "set-script" {
			s.puts(field{text: "package.json"}, strings.Replace(join(args, " "), "set-script ", "scripts.", 1))
		}
	case "go":
		for _, w := range args {
			if _, other, ok := strings.Cut(w.text, "="); ok && len(args) > 2 && args[0].text == "mod" && args[1].text == "edit" {
				s.puts(field{text: "go.mod"}, "=> "+other[strings.Index(other, "=")+1:])
			}
		}
	case "compgen":
		shows = slices.ContainsFunc(args, func(f field) bool { return wordlist.Has("-v -e variable export", f.text) })
	case "ps":
		shows = showsEnvironment(args)
	case "make", "gmake":
		shows = parseOptions(args, "fCIjloW", "file directory makefile include-dir jobs load-average old-file assume-new eval").has("p", "print-data-base")
	case "awk", "gawk", "mawk", "nawk":
		shows = s.namesCredential(awkEnvironment, args)
	case "jq", "gojq", "jaq", "yq":
		if text := join(args, "\n"); strings.Contains(text, "scripts") && slices.ContainsFunc(args, func(f field) bool { return strings.HasSuffix(f.text, "package.json") }) {
			s.puts(field{text: "package.json"}, text)
		}
		shows = s.namesCredential(jqEnvironment, args)
		for i, w := range args[:max(0, len(args)-2)] {
			if wordlist.Has("--rawfile --slurpfile --argfile", w.text) { // a name, and a file
				s.touch(args[i+2], collect.AccessRead)
			}
		}
		for _, w := range args {
			for _, m := range yqLoads.FindAllStringSubmatch(w.text, -1) {
				s.touch(field{text: m[1]}, collect.AccessRead)
			}
		}
	case "echo", "printf", "print":
		shows = slices.ContainsFunc(args, s.showsCredential)
	}
	if shows && !s.quiet {
		s.x.Path(collect.Ref{Text: ownEnvironment, Access: collect.AccessRead, Remote: s.remote})
	}
}

// showsEnvironment reports whether ps shows environments: by "e" among the
// options that stand without a dash, and by -E of BSD.
func showsEnvironment(args []field) bool {
	for i, w := range args {
		switch {
		case strings.HasPrefix(w.text, "--"):
		case strings.HasPrefix(w.text, "-"):
			if strings.Contains(w.text, "E") {
				return true
			}
		case i > 0 && len(args[i-1].text) > 1 && strings.HasPrefix(args[i-1].text, "-") && strings.ContainsAny(args[i-1].text[len(args[i-1].text)-1:], "opuUtCGgqskND"):
		default:
			flags, _, _ := strings.Cut(w.text, "o")
			return strings.Contains(flags, "e") && strings.Trim(flags, "aAcefghHjlmnrsSTuvwXx") == ""
		}
	}
	return false
}

// namesCredential reports whether a program in the words reads the environment
// as a whole, or by the name of a credential.
func (s *shell) namesCredential(environment *regexp.Regexp, args []field) bool {
	for _, w := range args {
		for _, m := range environment.FindAllStringSubmatch(w.text, -1) {
			s.x.Tick()
			name := strings.Trim(strings.Join(m[1:], ""), `.[]"() `)
			if name != ":" && (name == "" || credentialName.MatchString(name)) {
				return true
			}
		}
	}
	return false
}

// showsCredential reports whether a word holds the value of a variable that is
// named as credentials are, and that the text at hand has not set itself.
func (s *shell) showsCredential(w field) bool {
	return slices.ContainsFunc(w.dynamic, func(d string) bool {
		m := shownVariable.FindStringSubmatch(d)
		if m == nil {
			return false
		}
		name := m[1] + m[2]
		_, set := s.vars[name]
		return !set && credentialName.MatchString(name) && strings.ToUpper(name) == name
	})
}
