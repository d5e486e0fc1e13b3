package snippet

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// TestOddSpellings runs the programs in testdata/odd/node.txt, which try to make a
// file "done" in ways that are hard to see. Where one does, it must not be taken
// for one that does not.
func TestOddSpellings(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here: no program is run")
	}
	raw, err := os.ReadFile("testdata/odd/node.txt")
	if err != nil {
		t.Fatal(err)
	}
	did := 0
	programs := strings.Split(strings.TrimSpace(string(raw)), "\n---\n")[1:]
	for _, program := range programs {
		made := false
		for _, as := range []string{"commonjs", "module"} {
			if made {
				break
			}
			dir := t.TempDir()
			cmd := exec.Command(node, "--input-type="+as, "-e", program)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
			_ = cmd.Run() // many fail in one of the two ways
			_, err := os.Stat(filepath.Join(dir, "done"))
			made = err == nil
		}
		if !made {
			t.Logf("it does nothing here: %s", program)
			continue
		}
		did++
		e, err := Read("node", program)
		starts := slices.ContainsFunc(e.Shell, func(l string) bool { return strings.Contains(l, "done") }) ||
			slices.ContainsFunc(e.Commands, func(words []string) bool { return slices.Contains(words, "done") })
		if err == nil && len(e.Unseen) == 0 && !starts && !slices.ContainsFunc(e.Writes, func(p outcome.Place) bool { return coveredBy("done", p) }) {
			t.Errorf("it makes a file, and %s is found in\n%s", outcome.Describe(e, err), program)
		}
	}
	if did < len(programs)*3/4 {
		t.Errorf("only %d of %d programs do what they are meant to", did, len(programs))
	}
}
