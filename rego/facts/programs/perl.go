package programs

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

var (
	// perlPlain are options of Perl that load nothing, and change neither what is run
	// nor which files are read.
	perlPlain = lazyregexp.New(`^-([nplawE]|0[0-7]*|i(\.\w+|~)?$|C[0-9A-Z]*$)*(e|E|F.*|M.*)?$`)
	perlWords = lazyregexp.New(`^-M([A-Za-z_][\w:]*(=[\w,]+)?)$`)
)

// perlOptions are the modules that options of Perl load, and whether all options
// are plain ones.
func perlOptions(argv []string) (modules []string, plain bool) {
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		switch {
		case w == "--" || len(w) < 2 || w[0] != '-':
			return modules, !strings.ContainsAny(strings.Join(argv[i:], ""), "|<>&")
		case strings.HasPrefix(w, "-M"):
			m := perlWords.FindStringSubmatch(w)
			if m == nil {
				return nil, false
			}
			modules = append(modules, m[1])
		case !perlPlain.MatchString(w) || strings.Contains(w[1:], "M") || strings.Contains(w, "F") && !strings.HasPrefix(w, "-F") && !strings.HasPrefix(w, "-aF") && !strings.HasPrefix(w, "-laF") && !strings.HasPrefix(w, "-lanF"):
			return nil, false
		case strings.Contains(w, "F") && strings.ContainsAny(w, "$@{}("):
			return nil, false
		case (strings.HasSuffix(w, "e") || strings.HasSuffix(w, "E")) && !strings.Contains(w, "F"):
			i++ // the program
		}
	}
	return modules, true
}

// perlEmpties is what takes all of a line away, or all lines that follow.
var perlEmpties = lazyregexp.New(`\$_\s*=\s*(""|''|undef|q\(\)|qq\(\))|\bundef\b|\blast\b|\bexit\b|\bdie\b|s(/\^?\.[*+]\$?//|\{\^?\.[*+]\$?\}\{\})`)

// perlEdits is how a program touches the files that it rewrites: as a deletion, where
// nothing of them may be left.
func perlEdits(code string, argv []string) string {
	prints := slices.ContainsFunc(argv, func(w string) bool {
		return len(w) > 1 && w[0] == '-' && perlPlain.MatchString(w) && strings.Contains(w, "p")
	})
	if perlEmpties.MatchString(code) || !prints && !strings.Contains(code, "print") && !strings.Contains(code, "say") {
		return collect.AccessDelete
	}
	return collect.AccessWrite
}

// perlLoops reports whether Perl runs its program for each line of the files that the
// arguments name.
func perlLoops(argv []string) bool {
	return slices.ContainsFunc(argv[min(1, len(argv)):], func(w string) bool {
		return len(w) > 1 && w[0] == '-' && perlPlain.MatchString(w) && strings.ContainsAny(w, "np")
	})
}

// perlInPlace reports whether Perl writes the files that it reads.
func perlInPlace(argv []string) bool {
	for i, w := range argv[min(1, len(argv)):] {
		if len(w) < 2 || w[0] != '-' {
			return false
		}
		if strings.Contains(w, "i") && !strings.HasPrefix(w, "-M") && !strings.HasPrefix(w, "-F") {
			return true
		}
		if strings.HasSuffix(w, "e") && i+2 < len(argv) {
			return perlInPlace(append([]string{""}, argv[i+3:]...))
		}
	}
	return false
}

// perlRewrites reports whether the word at i stands among the files that Perl rewrites
// by a program on its command line: it opens these as they are named. With -n a file keeps
// no more than what the program prints.
func perlRewrites(words []argv.Field, i int) bool {
	coded := false
	j := 1
	for j < i && strings.HasPrefix(words[j].Text, "-") {
		w := words[j].Text
		if kept, _, _ := strings.Cut(w, "i."); strings.Contains(kept, "n") {
			return false
		}
		if perlPlain.MatchString(w) && !strings.ContainsAny(w, "FM") && (strings.HasSuffix(w, "e") || strings.HasSuffix(w, "E")) {
			coded = true
			j++
		}
		j++
	}
	return coded && j <= i && perlInPlace(argv.Texts(words[:j]))
}
