// Package differential holds the facts of shell text against what shells do.
//
// Scripts that a generator makes run in dash, bash, bash --posix and zsh, in a
// jail (jail_test.go) whose programs do nothing but record their arguments. What
// ran and is in no fact, where the facts have no parse error, was missed: policy
// would have decided on something else than what runs. The worst of the shells
// counts.
//
//	go test ./rego/facts/differential                     # two thousand scripts
//	HOLDGATE_WHOLE=1 go test ./rego/facts/differential -timeout 3h -v
//
// Scripts that were missed are made small and printed as rows of
// testdata/finds.txt. That file is run always: a row stays there once the facts
// are mended.
package differential

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/rego/facts"
)

var (
	scripts = flag.Int("scripts", sample(), "how many scripts to generate")
	seed    = flag.Uint64("seed", 1, "what to begin the generator with")
	keep    = flag.Int("finds", 20, "how many missed scripts to make small and print")
)

// sample is how many scripts are generated where nobody says otherwise. Two
// thousand hold each construct some forty times. Each that was missed before
// is in testdata/finds.txt, which is no sample.
func sample() int {
	if os.Getenv("HOLDGATE_WHOLE") != "" {
		return 200_000
	}
	return 2000
}

const (
	// perBatch is few enough that a busy machine runs a batch in its time.
	perBatch = 100
	// minimum is how many scripts in a thousand hold each construct at least.
	minimum = 20
	// freely is how many of the scripts in a hundred the facts must not hold: a
	// parser that holds everything misses nothing, and is of no use.
	freely = 40
)

func TestNothingRunsThatIsInNoFact(t *testing.T) {
	present := installed(t)
	g := newGenerator(*seed)
	free, programs := 0, 0
	var finds []string
	for done := 0; done < *scripts; done += perBatch {
		var texts []string
		for i := range min(perBatch, *scripts-done) {
			texts = append(texts, g.script(done+i))
		}
		all := readAll(t, texts)
		for i := range all {
			if !held(all[i]) {
				free++
			}
		}
		for _, shell := range present {
			b := batch{Shell: shell, Scripts: texts, Alone: done/perBatch%10 == 9}
			for i, argvs := range run(t, b) {
				programs += len(argvs)
				if lost := missed(shell, texts[i], all[i], argvs); len(lost) > 0 && len(finds) < 50**keep {
					finds = append(finds, texts[i])
				}
			}
		}
	}
	t.Logf("%d scripts of seed %d in %d shells ran %d programs; %d scripts were not held; %d missed", *scripts, *seed, len(present), programs, free, len(finds))
	for name := range constructs {
		if want := *scripts * minimum / 1000; g.counts[name] < want && *scripts >= 2000 {
			t.Errorf("%d scripts hold the construct %s, want at least %d", g.counts[name], name, want)
		}
	}
	if free < *scripts*freely/100 {
		t.Errorf("%d of %d scripts were not held, want at least %d in a hundred", free, *scripts, freely)
	}
	slices.SortFunc(finds, func(a, b string) int { return len(a) - len(b) })
	classes := make(map[string]bool)
	for _, find := range slices.Compact(finds) {
		small := shrink(t, present, find)
		class := digits.ReplaceAllString(small, "0")
		if !classes[class] {
			t.Errorf("missed: %s", describe(t, present, small))
		}
		if classes[class] = true; len(classes) == *keep {
			break
		}
	}
}

var digits = regexp.MustCompile("[0-9]+")

// TestFinds runs what was missed once.
func TestFinds(t *testing.T) {
	present := installed(t)
	file, err := os.Open("testdata/finds.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var texts []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if row := lines.Text(); row != "" && !strings.HasPrefix(row, "//") {
			text, err := strconv.Unquote(row)
			if err != nil {
				t.Fatalf("row %s: %v", row, err)
			}
			texts = append(texts, text)
		}
	}
	all := readAll(t, texts)
	for _, shell := range present {
		for _, alone := range []bool{false, true} {
			for i, argvs := range run(t, batch{Shell: shell, Scripts: texts, Alone: alone}) {
				if lost := missed(shell, texts[i], all[i], argvs); len(lost) > 0 {
					t.Errorf("%q in %s: missed %q", texts[i], shells[shell].name, lost)
				}
			}
		}
	}
}

func readAll(t *testing.T, texts []string) []facts.Facts {
	var all []facts.Facts
	for _, text := range texts {
		all = append(all, read(t, text))
	}
	return all
}

// installed are the shells that the system has.
func installed(t *testing.T) []int {
	var present []int
	for i, s := range shells {
		if _, err := exec.LookPath(s.argv[0]); err != nil {
			t.Logf("SKIPPED: %s is not here (apt-get install %s)", s.argv[0], s.argv[0])
			continue
		}
		present = append(present, i)
	}
	if len(present) == 0 {
		t.Skip("no shell is here")
	}
	return present
}

// shrink takes away from a script what it is missed without.
func shrink(t *testing.T, present []int, text string) string {
	for size := max(1, len(text)/2); size > 0; size /= 2 {
		for again := true; again; {
			again = false
			var shorter []string
			for at := 0; at+size <= len(text); at++ {
				shorter = append(shorter, text[:at]+text[at+size:])
			}
			if found, ok := firstMissed(t, present, shorter); ok {
				text, again = found, true
			}
		}
	}
	return text
}

func firstMissed(t *testing.T, present []int, texts []string) (string, bool) {
	all := readAll(t, texts)
	best := len(texts)
	for _, shell := range present {
		for i, argvs := range run(t, batch{Shell: shell, Scripts: texts}) {
			if len(missed(shell, texts[i], all[i], argvs)) > 0 {
				best = min(best, i)
			}
		}
	}
	if best == len(texts) {
		return "", false
	}
	return texts[best], true
}

// describe is a missed script with what it ran and what the facts say.
func describe(t *testing.T, present []int, text string) string {
	f := read(t, text)
	var sb strings.Builder
	fmt.Fprintf(&sb, "%q\n", text)
	for _, shell := range present {
		if lost := missed(shell, text, f, run(t, batch{Shell: shell, Scripts: []string{text}})[0]); len(lost) > 0 {
			fmt.Fprintf(&sb, "\t%s ran %q\n", shells[shell].name, lost)
		}
	}
	for _, c := range f.Commands {
		fmt.Fprintf(&sb, "\tfact %q via %v unresolved %q unbound %q\n", c.Argv, c.Via, c.Unresolved, c.Unbound)
	}
	return sb.String()
}
