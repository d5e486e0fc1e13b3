package programs

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// ownEnvironment is where a process finds its environment: reading that shows
// every credential in it.
const ownEnvironment = "/proc/self/environ"

var (
	// credentialName is the name of a variable that holds a credential.
	credentialName = lazyregexp.New(`(?i)(SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?|AUTH)$|^(SECRET|TOKEN)_|_(PAT|KEY|PWD)$`)
	// shownVariable is a variable whose value, or a part of it, stands in a word.
	shownVariable = lazyregexp.New(`^\$(\w+)$|^\$\{!?(\w+)(\}|:?-|:?=|:?\?|:[ \d]|[%#/^,@])`)
	// jqEnvironment is the environment in a filter of jq, whole or by name.
	jqEnvironment = lazyregexp.New(`(?:^|[^.\w"$-])(?:env|\$ENV)\b(\.\w+|\["?\w+"?\]|\(\w+\)|\s*:)?|strenv(\(\w+\))`)
	// awkEnvironment is the environment in a program of awk.
	awkEnvironment = lazyregexp.New(`\bENVIRON\b(\["\w+"\])?`)
	// yqLoads are the files that a filter of yq reads.
	yqLoads = lazyregexp.New(`\bload\w*\(\s*"([^"]+)"`)
)

// environmentReads notes commands that show the environment, or a credential
// in it.
func environmentReads(s *shell.Shell, name string, in shell.Invocation) {
	args := in.Words[1:]
	shows := false
	switch name {
	case "set":
		shows = len(args) == 0
	case "export", "declare", "typeset", "readonly", "local":
		flags, names := "", []argv.Field(nil)
		for _, w := range args {
			if strings.HasPrefix(w.Text, "-") {
				flags += w.Text
			} else {
				names = append(names, w)
			}
		}
		shows = len(names) == 0 && name != "local" && strings.Trim(flags, "-pxg") == "" ||
			strings.Contains(flags, "p") && slices.ContainsFunc(names, func(f argv.Field) bool { return credentialName.MatchString(f.Text) })
	case "npm", "pnpm", "yarn":
		if len(args) > 2 && args[0].Text == "pkg" && args[1].Text == "set" || len(args) > 1 && args[0].Text == "set-script" {
			s.Puts(argv.Field{Text: "package.json"}, strings.Replace(argv.Join(args, " "), "set-script ", "scripts.", 1))
		}
	case "go":
		for _, w := range args {
			if _, other, ok := strings.Cut(w.Text, "="); ok && len(args) > 2 && args[0].Text == "mod" && args[1].Text == "edit" {
				s.Puts(argv.Field{Text: "go.mod"}, "=> "+other[strings.Index(other, "=")+1:])
			}
		}
	case "compgen":
		shows = slices.ContainsFunc(args, func(f argv.Field) bool { return wordlist.Has("-v -e variable export", f.Text) })
	case "ps":
		shows = showsEnvironment(args)
	case "make", "gmake":
		shows = argv.ParseOptions(args, "fCIjloW", "file directory makefile include-dir jobs load-average old-file assume-new eval").Has("p", "print-data-base")
	case "awk", "gawk", "mawk", "nawk":
		shows = namesCredential(s, awkEnvironment, args)
	case "jq", "gojq", "jaq", "yq":
		if text := argv.Join(args, "\n"); strings.Contains(text, "scripts") && slices.ContainsFunc(args, func(f argv.Field) bool { return strings.HasSuffix(f.Text, "package.json") }) {
			s.Puts(argv.Field{Text: "package.json"}, text)
		}
		shows = namesCredential(s, jqEnvironment, args)
		for i, w := range args[:max(0, len(args)-2)] {
			if wordlist.Has("--rawfile --slurpfile --argfile", w.Text) { // a name, and a file
				s.Touch(args[i+2], collect.AccessRead)
			}
		}
		jqImports(s, args)
		for _, w := range args {
			for _, m := range yqLoads.FindAllStringSubmatch(w.Text, -1) {
				s.Touch(argv.Field{Text: m[1]}, collect.AccessRead)
			}
		}
	case "echo", "printf", "print":
		shows = slices.ContainsFunc(args, func(f argv.Field) bool { return showsCredential(s, f) })
	}
	if shows && !s.Quiet {
		s.Found.Path(collect.Ref{Text: ownEnvironment, Access: collect.AccessRead, Remote: s.Remote})
	}
}

// jqLoads is a file that a program of jq takes in by its name without the ending.
var jqLoads = lazyregexp.New(`\b(?:import|include)\s+"([^"]+)"`)

// jqImports notes the files that programs of jq take in, from the folders of -L or beside.
func jqImports(s *shell.Shell, args []argv.Field) {
	folders := []string{"", "~/.jq"}
	for i, w := range args {
		if folder, ok := strings.CutPrefix(w.Text, "-L"); ok && folder != "" {
			folders = append(folders, folder)
		} else if ok && i+1 < len(args) {
			folders = append(folders, args[i+1].Text)
		}
	}
	for _, w := range args {
		for _, m := range jqLoads.FindAllStringSubmatch(w.Text, -1) {
			for _, folder := range folders {
				s.Touch(argv.Field{Text: path.Join(folder, m[1]) + ".json"}, collect.AccessRead)
			}
		}
	}
}

// showsEnvironment reports whether ps shows environments: by "e" among the
// options that stand without a dash, and by -E of BSD.
func showsEnvironment(args []argv.Field) bool {
	for i, w := range args {
		switch {
		case strings.HasPrefix(w.Text, "--"):
		case strings.HasPrefix(w.Text, "-"):
			if strings.Contains(w.Text, "E") {
				return true
			}
		case i > 0 && len(args[i-1].Text) > 1 && strings.HasPrefix(args[i-1].Text, "-") && strings.ContainsAny(args[i-1].Text[len(args[i-1].Text)-1:], "opuUtCGgqskND"):
		default:
			flags, _, _ := strings.Cut(w.Text, "o")
			return strings.Contains(flags, "e") && strings.Trim(flags, "aAcefghHjlmnrsSTuvwXx") == ""
		}
	}
	return false
}

// namesCredential reports whether a program in the words reads the environment
// as a whole, or by the name of a credential.
func namesCredential(s *shell.Shell, environment *lazyregexp.Regexp, args []argv.Field) bool {
	for _, w := range args {
		for _, m := range environment.FindAllStringSubmatch(w.Text, -1) {
			s.Found.Tick()
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
func showsCredential(s *shell.Shell, w argv.Field) bool {
	return slices.ContainsFunc(w.Dynamic, func(d string) bool {
		m := shownVariable.FindStringSubmatch(d)
		if m == nil {
			return false
		}
		names, known := []string{m[1] + m[2]}, true
		if strings.HasPrefix(d, "${!") && !strings.HasSuffix(d, "@}") { // ${!x@} lists names
			names, known = s.Holds(m[2])
		}
		return !known || slices.ContainsFunc(names, func(name string) bool {
			_, set := s.Vars[name]
			return !set && credentialName.MatchString(name) && strings.ToUpper(name) == name
		})
	})
}
