package score_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/score"
)

const ownRule = `package holdgate
decision := {"action": "deny", "rule": concat(" ", [input.confinement.level, sprintf("%v", [input.confinement.undo]), object.get(input.agent, "confinement", "-")]), "reason": "x"}
`

// saw keeps what rules say of the rows, which name what they saw.
type saw struct {
	policy *rego.Engine
	rules  *[]string
}

func (s saw) Eval(ctx context.Context, input []byte) (holdgate.Decision, error) {
	d, err := s.policy.Eval(ctx, input)
	*s.rules = append(*s.rules, d.Rule)
	return d, err
}

func TestRowsAreScoredWithTheConfinementThatIsGiven(t *testing.T) {
	t.Parallel()
	engine, err := rego.Open(t.Context(), rego.Options{Path: write(t, ownRule)})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(context.WithoutCancel(t.Context()))
	rows, err := score.Read(strings.NewReader(`{"id":"a","want":"hold","tool":"Bash","input":{"command":"ls"}}
{"id":"b","want":"hold","tool":"Bash","input":{"command":"ls"},"confinement":{"level":"strong","undo":true}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, of := range []score.Confinement{{}, {Level: "weak"}} {
		if _, err := score.Run(t.Context(), saw{engine, &got}, rows, score.Options{Confinement: of}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"none false -", "strong true strong", "weak false weak", "strong true strong"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := score.Read(strings.NewReader(`{"id":"a","want":"hold","tool":"Bash","input":{},"confinement":{"level":"odd"}}`)); err == nil {
		t.Error("a confinement that nobody knows was read")
	}
}

// write writes a policy into a file of its own.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.rego")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
