package e2e_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// started is what GODEBUG=inittrace=1 says of a package of ours: its name, and the bytes that it took.
var started = regexp.MustCompile(`(?m)^init github\.com/holdgate/holdgate/(\S+) .* clock, (\d+) bytes`)

// Every command initializes every package, and most need next to nothing of them. Bytes are counted, for a busy machine
// does not change them.
func TestACommandStartsWithoutTheTablesOfOthers(t *testing.T) {
	t.Parallel()
	r := holdgate(t, []string{"GODEBUG=inittrace=1"}, "version")
	packages := started.FindAllStringSubmatch(r.stderr, -1)
	if r.code != 0 || len(packages) < 10 || !strings.Contains(r.stderr, "/rego/facts/programs ") {
		t.Fatalf("the packages of the program should be told: %v", r)
	}
	for _, p := range packages {
		if n, err := strconv.Atoi(p[2]); err != nil || n > 256<<10 {
			t.Errorf("%s takes %d bytes when any command starts (%v): make what is large when it is first used, as lazyregexp does", p[1], n, err)
		}
	}
}
