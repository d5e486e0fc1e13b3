package e2e_test

import (
	"strings"
	"testing"
)

func TestDemoDoesWhatWasDecidedAndSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		decide string
		ends   []string // the last lines
	}{
		{"approve", []string{"Approved by you: Bash: rm -rf data", "The folder is gone."}},
		{"deny", []string{"Refused: Bash: rm -rf data (denied by you)", "The file data/measurements.csv is still there."}},
		{"steer", []string{"Refused: Bash: rm -rf data (steered by you)", "The file is still there: archive/data/measurements.csv"}},
	} {
		t.Run(c.decide, func(t *testing.T) {
			t.Parallel()
			r := holdgate(t, nil, "demo", "--decide", c.decide)
			if want := strings.Join(c.ends, "\n") + "\n"; r.code != 0 || !strings.HasSuffix(r.stdout, want) {
				t.Errorf("the last lines should be\n%s\n%v", want, r)
			}
		})
	}
}

func TestDemoWithoutATerminalSaysHowToAnswerBeforehand(t *testing.T) {
	t.Parallel()
	r := holdgate(t, nil, "demo")
	if r.code != 2 || !strings.Contains(r.stderr, "hint: ") || !strings.Contains(r.stderr, "--decide approve|deny|steer") {
		t.Errorf("got %v", r)
	}
}
