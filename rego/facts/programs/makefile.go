package programs

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/environ"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// A Makefile that the line has written is read where the line runs make. Only what is
// plain is: rules with their recipes, and variables with plain values.

var (
	makeRule     = lazyregexp.New(`^([\w./%-]+(?: +[\w./-]+)*) *:(?:([^=:|;#$]*))(?:#.*)?$`)
	makeVariable = lazyregexp.New(`^([A-Za-z_]\w*) *:?= *([\w./:@,= -]*)$`)
	// makeOwn are variables of make itself, and of its built-in rules.
	makeOwn = lazyregexp.New(`^(MAKE.*|.*MAKEFLAGS|.*FLAGS|SHELL|VPATH|GPATH|PATH|CURDIR|SUFFIXES|AR|AS|CC|CXX|CPP|CO|CTANGLE|CWEAVE|F77|FC|GET|LD|LEX|LINT|M2C|OBJC|PC|RM|TANGLE|TEX|TEXI2DVI|WEAVE|YACC|COMPILE|LINK|LOADLIBES|LDLIBS|OUTPUT_OPTION|TARGET_ARCH|TARGET_MACH|PREPROCESS|CHECKOUT|D|F)$`)
	// makeWords are words of make that begin a line which is no rule.
	makeWords = lazyregexp.New(`^(-?include|sinclude|-?load|define|endef|undefine|ifn?def|ifn?eq|else|endif|export|unexport|override|private|vpath)\b`)
	// makeJoined is a line that goes on at the next, where a blank in between is all there is
	// to it.
	makeJoined = lazyregexp.New(`^[^#'"\\]*[ \t]\\$`)
	makeUse    = lazyregexp.New(`\$[({]([A-Za-z_]\w*)[)}]`)
)

// maxMakeRules bounds how many rules are followed.
const maxMakeRules = 100

type makeTarget struct {
	needs, recipe []string
	phony         bool // no built-in rule is looked for
}

// otherMakefiles are files that the line has written, and that make takes before a
// Makefile.
func otherMakefiles(s *shell.Shell) []string {
	if len(s.Dirs) == 0 {
		return nil
	}
	return slices.DeleteFunc([]string{"GNUmakefile", "makefile"}, func(name string) bool {
		return !s.Found.Overwrites(collect.JoinAny(s.Dirs[0], name), false)
	})
}

// makefileShown reads the Makefile of the folder at hand, where the line has written it,
// and walks the recipes of what is to be made. It reports false where it does not know
// all that would run.
func makefileShown(s *shell.Shell, in shell.Invocation) bool {
	file := argv.Field{Text: "Makefile"}
	text, ok := s.Content(file)
	if !ok {
		return false
	}
	targets, first, ok := makeRules(text)
	if !ok {
		return false
	}
	var goals []string
	for _, w := range in.Words[1:] {
		switch {
		case !w.Sure() || argv.IsAssignment(w):
			return false
		case makeFlag.MatchString(w.Text):
		case strings.HasPrefix(w.Text, "-"):
			return false
		default:
			goals = append(goals, w.Text)
		}
	}
	if len(goals) == 0 {
		goals = []string{first}
	}
	s.Touch(file, collect.AccessRead)
	done := make(map[string]bool)
	for len(goals) > 0 {
		goal := goals[0]
		goals = goals[1:]
		t, ok := targets[goal]
		if done[goal] {
			continue
		}
		if !ok || len(t.recipe) == 0 && !t.phony {
			return false // a built-in rule may make it
		}
		if done[goal] = true; len(done) > maxMakeRules {
			return false
		}
		goals = append(goals, t.needs...)
		for _, line := range t.recipe {
			s.CodeText(argv.Field{Text: line}, in.Under("make"))
		}
	}
	return true
}

// makeFlag is an option of make that changes nothing of what would run.
var makeFlag = lazyregexp.New(`^(-[nskB]+|-j[0-9]*|--dry-run|--silent|--always-make|--no-print-directory)$`)

// makeRules takes a Makefile apart. It reports false where it holds more than is read
// here.
func makeRules(text string) (targets map[string]makeTarget, first string, ok bool) {
	targets, variables := make(map[string]makeTarget), map[string]string{"MAKE": "make"}
	var current []string
	if strings.ContainsAny(text, "\r\x00") {
		return nil, "", false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasSuffix(line, `\`) && !makeJoined.MatchString(line) {
			return nil, "", false
		}
	}
	ended := make(map[string]bool) // targets with a recipe of an earlier rule
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		if recipe, is := strings.CutPrefix(line, "\t"); is {
			plain, known := expandMake(strings.TrimLeft(recipe, "@-+ \t"), variables)
			if !known || len(current) == 0 {
				return nil, "", false
			}
			for _, name := range current {
				if ended[name] {
					return nil, "", false
				}
				t := targets[name]
				t.recipe = append(slices.Clip(t.recipe), plain)
				targets[name] = t
			}
			continue
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if m := makeVariable.FindStringSubmatch(line); m != nil {
			if _, twice := variables[m[1]]; twice || makeOwn.MatchString(m[1]) || environ.HoldsCode(m[1]) {
				return nil, "", false
			}
			variables[m[1]], current = m[2], nil
			continue
		}
		m := makeRule.FindStringSubmatch(line)
		if m == nil || strings.Contains(m[1], "%") || makeWords.MatchString(line) {
			return nil, "", false
		}
		for name, t := range targets {
			ended[name] = len(t.recipe) > 0
		}
		current = strings.Fields(m[1])
		for _, name := range current {
			if strings.HasSuffix(strings.ToLower(name), "makefile") || strings.HasPrefix(name, ".") && !wordlist.Has(".PHONY .DEFAULT_GOAL .SILENT", name) {
				return nil, "", false
			}
			t := targets[name]
			if name[0] != '.' || name == ".PHONY" {
				if first == "" && name[0] != '.' {
					first = name
				}
				t.needs = append(slices.Clip(t.needs), strings.Fields(m[2])...)
			}
			targets[name] = t
		}
	}
	for _, name := range targets[".PHONY"].needs {
		t := targets[name]
		t.phony = true
		targets[name] = t
	}
	return targets, first, true
}

// expandMake puts values in place of variables, and $ in place of $$.
func expandMake(line string, variables map[string]string) (string, bool) {
	const dollar = "\x00"
	line = strings.ReplaceAll(line, "$$", dollar)
	line = makeUse.ReplaceAllStringFunc(line, func(use string) string {
		if value, ok := variables[use[2:len(use)-1]]; ok {
			return value
		}
		return use
	})
	return strings.ReplaceAll(line, dollar, "$"), !strings.Contains(line, "$")
}
