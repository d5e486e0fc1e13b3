package score_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/score"
)

const table = `{"id":"c","want":"pass","class":"read","tool":"Bash","input":{"command":"ls"}}

{"id":"d","want":"pass","tool":"Bash","input":{"command":"sudo reboot"}}
{"id":"e","kind":"script","want":"hold","tool":"Bash","input":{"command":"cd /tmp\nls"}}
{"id":"a","want":"hold","tool":"Write","input":{"file_path":"src/a.go","content":"x"},"cwd":"/elsewhere"}
`

func rows(t *testing.T) []score.Row {
	t.Helper()
	rows, err := score.Read(strings.NewReader(table))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestATableIsScored(t *testing.T) {
	t.Parallel()
	engine, err := rego.Open(t.Context(), rego.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(context.WithoutCancel(t.Context()))
	r, err := score.Run(t.Context(), engine, rows(t), score.Options{Dir: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	want := score.Report{
		Counts: []score.Count{{"call", score.Pass, 2, 1}, {"call", score.Hold, 1, 1}, {"script", score.Hold, 1, 1}},
		Rules:  []score.Rule{{"shell.privilege", 1}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Worst(score.Pass) != 50 || r.Worst(score.Hold) != 100 {
		t.Errorf("%g %% are asked about, %g %% missed", r.Worst(score.Pass), r.Worst(score.Hold))
	}
}

// denies refuses every call.
type denies struct{}

func (denies) Eval(context.Context, []byte) (holdgate.Decision, error) {
	return holdgate.Decision{Action: holdgate.Deny, Rule: "r"}, nil
}

// The halves are disjoint and whole, and of the scored one no row is shown.
func TestTheScoredHalfIsCountedOnly(t *testing.T) {
	t.Parallel()
	n := 0
	for _, half := range []score.Half{score.Working, score.Scored} {
		r, err := score.Run(t.Context(), denies{}, rows(t), score.Options{Half: half})
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for _, c := range r.Counts {
			n += c.Rows
			wrong += c.Wrong
		}
		if shown := len(r.Wrong); half == score.Working && shown != wrong || half == score.Scored && shown != 0 {
			t.Errorf("%s: %d rows are shown, %d went wrong", half, shown, wrong)
		}
	}
	if n != len(rows(t)) {
		t.Errorf("the halves have %d rows of %d", n, len(rows(t)))
	}
}

func TestATableThatIsNone(t *testing.T) {
	t.Parallel()
	const good = `{"id":"a","want":"pass","tool":"Bash","input":{}}` + "\n"
	for text, want := range map[string]string{
		good + good: `line 2: the id "a" is that of line 1`,
		good + "{":  "line 2: ",
		`{"id":"a","want":"allow","tool":"Bash","input":{}}`: `line 1: want is "allow": it must be "pass" or "hold"`,
		`{"id":"a","want":"pass","tool":"Bash"}`:             `line 1: input must be an object`,
		`{"id":"a","want":"pass","input":{}}`:                "line 1: a row needs a tool",
		`{"want":"pass","tool":"Bash","input":{}}`:           "line 1: a row needs an id",
	} {
		if _, err := score.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(table)
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := score.Read(strings.NewReader(text))
		for _, r := range rows {
			if score.Working.Has(&r) == score.Scored.Has(&r) || !score.Both.Has(&r) {
				t.Errorf("row %q is in no half, or in both (%v)", r.ID, err)
			}
		}
	})
}
