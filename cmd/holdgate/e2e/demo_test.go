package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestDemoDoesWhatWasDecidedAndSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		decide string
		ends   []string // the last lines
	}{
		{"approve", []string{"Approved by you: Deletes ./data and everything in it", "The folder is gone."}},
		{"deny", []string{"Denied by you: Deletes ./data and everything in it", "The file data/measurements.csv is still there."}},
		{"steer", []string{"Steered by you: Deletes ./data and everything in it", "The file is still there: archive/data/measurements.csv"}},
	} {
		t.Run(c.decide, func(t *testing.T) {
			t.Parallel()
			r := holdgate(t, nil, "demo", "--decide", c.decide)
			// Where the agent's commands run in a sandbox, what was approved is taken back.
			said, undone, _ := strings.Cut(r.stdout, "\nThe command ran under holdgate run --undo")
			if want := strings.Join(c.ends, "\n") + "\n"; r.code != 0 || !strings.HasSuffix(said, want) {
				t.Errorf("the last lines should be\n%s\n%v", want, r)
			}
			_, sandboxed := kinds(t)["strong"]
			if want := sandboxed && c.decide == "approve"; want != strings.HasSuffix(undone, "The file data/measurements.csv is there again.\n") {
				t.Errorf("an undo should be shown: %v; it ends\n%s", want, undone)
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

// What differs from one run to the next: ids of requests, the hash of the log's
// head.
var differs = regexp.MustCompile(`[0-9a-z]{6}-[0-9a-z]{6}-[0-9a-z]{6}|:[0-9a-f]{64}`)

// The README opens with what the demo prints, line by line.
func TestTheReadmeShowsWhatTheDemoPrints(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, transcript, ok := strings.Cut(string(readme), "deploy/demo --decide deny\n    Compiling Holdgate. The first time takes minutes ...\n")
	if !ok {
		t.Fatal("the README does not run `deploy/demo --decide deny`")
	}
	r := holdgate(t, nil, "demo", "--decide", "deny")
	rest, lines := differs.ReplaceAllString(r.stdout, "*"), 0
	for line := range strings.Lines(transcript) {
		text := strings.TrimSpace(differs.ReplaceAllString(line, "*"))
		if text == "" {
			continue
		}
		if !strings.HasPrefix(line, "    ") {
			break // the transcript is over
		}
		skipped, after, ok := strings.Cut(rest, text)
		if !ok || lines > 0 && strings.TrimSpace(skipped) != "" {
			t.Fatalf("the README shows %q; the demo does not print that here: %v", text, r)
		}
		rest, lines = after, lines+1
	}
	if lines < 9 || strings.TrimSpace(rest) != "" {
		t.Errorf("the README shows %d lines and leaves out the end of the demo: %q", lines, rest)
	}
}
