package rego

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
)

// company are lines that pass, and of which the facts tell much: statements, deletions,
// hosts, files that are read and written, a variable.
const company = `psql -h localhost -c 'select 1'
touch /tmp/a.log; rm /tmp/a.log
curl -s localhost:3000/x
git status && cat README.md
LOG=1 make test`

// TestAHeldLineIsHeldInCompany holds that nothing which a call does besides takes a
// question away: each line of the tables that is held, before some that pass, and before
// one of the tables.
func TestAHeldLineIsHeldInCompany(t *testing.T) {
	p := loaded(t, "")
	if d := decideAt(t, p, tabled, company); d.Action != holdgate.Allow {
		t.Fatalf("the company is asked about itself: %s", decisionLine(d))
	}
	held, passing := tabledLines(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, h := range held {
		for _, beside := range []string{company, passing[r.IntN(len(passing))]} {
			if d := decideAt(t, p, tabled, h+"\n"+beside); d.Action == holdgate.Allow {
				t.Errorf("it passes: %s", strings.ReplaceAll(h+"\n"+beside, "\n", "\n\t"))
			}
		}
	}
}

// tabledLines are the lines of the tables that are held or denied, of those that run
// something at all, and those that pass.
func tabledLines(t *testing.T) (held, passing []string) {
	t.Helper()
	files, err := filepath.Glob("facts/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range shellFile(t, string(body)) {
			in := tabled
			in.Call = bashCall(c.text)
			switch {
			case c.want == "allow":
				passing = append(passing, c.text)
			case len(patientFacts(t, in).Commands) > 0:
				held = append(held, c.text)
			}
		}
	}
	return held, passing
}
