package command_test

import (
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/screentest"
)

func TestATableThatDoesNotFitIsStacked(t *testing.T) {
	header := []string{"SESSION", "AGENT", "GATES PASSED", "SEEN"}
	rows := [][]string{{"6f1c2a34-98b1-4d2e-8a77-0c5e1f2a3b4c", "claude", "", "5s ago"}, {"s2", "builder\tcodex", "intent, deploy", "1h02m ago"}}
	const wide = "" +
		"SESSION                               AGENT          GATES PASSED    SEEN\n" +
		"6f1c2a34-98b1-4d2e-8a77-0c5e1f2a3b4c  claude         -               5s ago\n" +
		"s2                                    builder⇥codex  intent, deploy  1h02m ago\n"
	const narrow = "" +
		"6f1c2a34-98b1-4d2e-8a77-0c5e1f2a3b4c\n" +
		"    agent claude, seen 5s ago\n" +
		"s2\n" +
		"    agent builder⇥codex, gates passed\n" +
		"    intent, deploy, seen 1h02m ago\n"
	for width, want := range map[int]string{0: wide, 200: wide, 40: narrow} {
		if diff := cmp.Diff(want, trimmed(command.Table(width, header, rows))); diff != "" {
			t.Errorf("at %d columns (-want +got):\n%s", width, diff)
		}
	}
}

func TestFieldsAreAsWideAsTheScreen(t *testing.T) {
	got := command.Fields(40, [][2]string{{"session", "s1"}, {"gates needed", ""}, {"calls", "12 allowed, 0 refused, 1 asked about (1 approved, 0 denied)"}, {"", "and\nmore"}})
	const want = "" +
		"session  s1\n" +
		"calls    12 allowed, 0 refused, 1 asked\n" +
		"         about (1 approved, 0 denied)\n" +
		"         and⟨U+000A⟩more\n"
	if diff := cmp.Diff(want, trimmed(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// On a terminal an error and its hint are broken between words; elsewhere, where scripts
// read them, they are a line each.
func TestErrorsAreAsWideAsTheTerminal(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer master.Close()
	defer tty.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 40}); err != nil {
		t.Fatal(err)
	}
	file, err := os.CreateTemp(t.TempDir(), "told")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	failed := &command.Exit{Code: command.ExitFailed, Text: "the first of two things that are wrong is long\nthe second is not", Hint: "look at what stands there and try it again"}
	const broken = "" +
		"error: the first of two things that are\n" +
		"       wrong is long\n" +
		"error: the second is not\n" +
		"hint: look at what stands there and try\n" +
		"      it again\n"
	const whole = "error: the first of two things that are wrong is long\nerror: the second is not\nhint: look at what stands there and try it again\n"
	for _, c := range []struct {
		to   *os.File
		read func([]byte) (int, error)
		want string
	}{
		{tty, master.Read, broken},
		{file, func(b []byte) (int, error) { return file.ReadAt(b, 0) }, whole},
	} {
		e := &command.Env{Stderr: c.to, Getenv: func(string) string { return "" }}
		if code := e.Report(failed); code != command.ExitFailed {
			t.Errorf("it ends with %d", code)
		}
		got, b := "", make([]byte, 1024)
		for len(trimmed(got)) < len(c.want) {
			n, err := c.read(b)
			if got += strings.ReplaceAll(string(b[:n]), "\r\n", "\n"); err != nil {
				break
			}
		}
		if trimmed(got) != c.want {
			t.Errorf("it tells\n%s\nwant\n%s", got, c.want)
		}
	}
}

// trimmed is a text without the blanks that end its lines.
func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

// FuzzTable throws texts at what lists are made with: none brings a character that a
// terminal obeys, a line that is wider than the screen, or one that begins as a row does.
func FuzzTable(f *testing.F) {
	for _, s := range screentest.Hostile {
		f.Add(s, 0)
		f.Add(s, 44)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		if width = max(width, 0) % 200; width < 20 {
			width = 0
		}
		table := command.Table(width, []string{"NAME", "SAYS", "STATE"}, [][]string{{"id1", s, s}, {"id2", s, ""}})
		screentest.Check(t, table, width, "NAME ", "id1", "id2", "    ")
		if n := strings.Count("\n"+table, "\nid"); n != 2 {
			t.Errorf("%d rows of 2:\n%s", n, table)
		}
		for l := range strings.Lines(command.Table(width, []string{"NAME", "SAYS"}, [][]string{{s, "a"}})) {
			if strings.HasPrefix(l, " ") && !strings.HasPrefix(l, "  ") {
				t.Errorf("a name begins as what is below one: %q", l)
			}
		}
		screentest.Check(t, command.Fields(width, [][2]string{{"name", "a"}, {"says", s}, {"and", s}}), width, "name  ", "says  ", "and   ", "      ")
		e := &command.Env{Getenv: func(string) string { return "" }}
		var told strings.Builder
		e.Stderr = &told
		e.Report(&command.Exit{Text: "it is " + s, Hint: s})
		screentest.Check(t, told.String(), 0, "error:", "hint: ")
	})
}
