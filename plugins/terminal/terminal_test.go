package terminal

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

func TestConformance(t *testing.T) {
	sdktest.Run(t, sdktest.Subject{
		New:  func(*testing.T) sdk.Channel { return New(slog.New(slog.DiscardHandler), nothing) },
		Good: func(t *testing.T) string { return string(config(sit(t))) },
		Bad: map[string]string{
			"no terminal":       `{}`,
			"a relative path":   `{"tty": "pts/3"}`,
			"no such file":      `{"tty": "/dev/pts/999999"}`,
			"a file":            `{"tty": "/etc/hostname"}`,
			"a device":          `{"tty": "/dev/null"}`,
			"whichever":         `{"tty": "/dev/tty"}`,
			"whichever, hidden": `{"tty": "/dev/../dev/tty"}`,
			"a colour":          `{"tty": "/dev/null", "colour": "blue"}`,
		},
	})
}

// prompt ends what the channel shows before it listens.
const prompt = " > "

func TestAnswers(t *testing.T) {
	choice := func(n *sdk.Notice) {
		n.Kind, n.Answers = "choice", []string{sdk.Deny, sdk.Choose}
		n.Options = []sdk.Option{{ID: "staging", Label: "To staging", Effect: "approve"}, {ID: "nowhere", Label: "Nowhere", Effect: "deny"}}
	}
	high := func(n *sdk.Notice) { n.Risk = sdk.RiskHigh }
	for _, c := range []struct {
		name   string
		edit   func(*sdk.Notice)
		dialog []string // what is typed at a prompt, and then what is shown, in turns
		want   sdk.Answer
	}{
		{name: "a letter approves", dialog: []string{"a\n", "The request is approved."}, want: sdk.Answer{Decision: sdk.Approve}},
		{name: "the word approves", dialog: []string{"approve\n", "The request is approved."}, want: sdk.Answer{Decision: sdk.Approve}},
		{name: "high risk needs the whole word", edit: high,
			dialog: []string{"a\n", "type in full: approve", "y\n", "Nothing was decided", "approve\n", "The request is approved."}, want: sdk.Answer{Decision: sdk.Approve}},
		{name: "denying asks why", dialog: []string{"d\n", "Why", "not today\n", "The request is"}, want: sdk.Answer{Decision: sdk.Deny, Reason: "not today"}},
		{name: "denying needs no reason", dialog: []string{"deny\n", "Why", "\n", "The request is"}, want: sdk.Answer{Decision: sdk.Deny}},
		{name: "steering asks what to do", dialog: []string{"s\n", "What to do instead", "use the trash\n", "The request is"},
			want: sdk.Answer{Decision: sdk.Steer, Instructions: "use the trash"}},
		{name: "steering without words goes back", dialog: []string{"s\n", "What to do instead", "\n", prompt, "d\n", "Why", "\n", "The request is"}, want: sdk.Answer{Decision: sdk.Deny}},
		{name: "Enter alone decides nothing", dialog: []string{"\n", "Nothing was decided", "d\n", "Why", "\n", "The request is"}, want: sdk.Answer{Decision: sdk.Deny}},
		{name: "viewing shows the arguments", dialog: []string{"v\n", `"command": "rm -rf build"`, "a\n", "The request is"}, want: sdk.Answer{Decision: sdk.Approve}},
		{name: "a number chooses", edit: choice, dialog: []string{"2\n", "The request is"}, want: sdk.Answer{Decision: sdk.Choose, Choice: "nowhere"}},
		{name: "a number out of range decides nothing", edit: choice, dialog: []string{"3\n", "no such option", "1\n", "The request is"}, want: sdk.Answer{Decision: sdk.Choose, Choice: "staging"}},
		{name: "a choice cannot be approved", edit: choice, dialog: []string{"a\n", "give the number", "1\n", "The request is"}, want: sdk.Answer{Decision: sdk.Choose, Choice: "staging"}},
		{name: "a choice of high risk takes more than a key", edit: func(n *sdk.Notice) { choice(n); high(n) },
			dialog: []string{"1\n", "type in full: choose 1", "choose 1\n", "The request is"}, want: sdk.Answer{Decision: sdk.Choose, Choice: "staging"}},
		{name: "critical risk is not approved here", edit: func(n *sdk.Notice) {
			n.Risk, n.Answers, n.Closed = sdk.RiskCritical, []string{sdk.Deny}, "see it with: holdgate show r1"
		}, dialog: []string{"approve\n", "Not here: see it with: holdgate show r1", "s\n", "cannot be steered", "d\n", "Why", "\n", "The request is"}, want: sdk.Answer{Decision: sdk.Deny}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			n := sdktest.Notice("r1")
			if c.edit != nil {
				c.edit(&n)
			}
			d.notify(n)
			d.expect(n.Summary, prompt)
			for i, s := range c.dialog {
				if i%2 == 0 {
					d.types(s)
					continue
				}
				d.expect(s)
			}
			c.want.ID, c.want.Nonce, c.want.Digest, c.want.By = n.ID, n.Nonce, n.Digest, "ada"
			if diff := cmp.Diff(c.want, d.answered()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			d.undecided()
		})
	}
}

func TestWhatWasTypedBeforeTheQuestionDecidesNothing(t *testing.T) {
	t.Parallel()
	d := openQuiet(t, 2*time.Second) // long enough for a slow machine to type

	d.expect("Holdgate asks here.")
	d.types("approve\na\n") // before there is a question
	d.notify(sdktest.Notice("r1"))
	d.expect("digest")
	d.types("a\nappro") // as it appears, and half a line
	d.expect(prompt)
	d.types("ve\n") // what is left of it is no answer
	d.expect("Nothing was decided")
	d.undecided()
}

func TestANewQuestionDoesNotGetTheAnswerToTheOld(t *testing.T) {
	t.Parallel()
	d := open(t)
	first, second := sdktest.Notice("r1"), sdktest.Notice("r2")
	d.notify(first)
	d.expect("request    r1", prompt)
	d.notify(second)
	d.types("a") // the person is about to approve the first
	d.update(sdktest.Ended(first))
	d.expect("Request r1 is denied already, by ada.", "request    r2")
	d.types("\n")
	d.expect(prompt)
	d.undecided()
	d.types("a\n")
	if a := d.answered(); a.ID != "r2" {
		t.Errorf("answered %s, want r2", a.ID)
	}
}

func TestAQuestionThatChangedIsAskedAnew(t *testing.T) {
	t.Parallel()
	d := open(t)
	n := sdktest.Notice("r1")
	d.notify(n)
	d.expect("rm -rf build", prompt)
	n.Nonce, n.Digest, n.Summary = "other", strings.Repeat("f", 64), "Bash: rm -rf /"
	d.notify(n)
	d.expect("The call has changed since it was shown.", "Bash: rm -rf /", prompt)
	d.types("a\n")
	if a := d.answered(); a.Digest != n.Digest || a.Nonce != "other" {
		t.Errorf("answered %+v", a)
	}
}

func TestANoticeThatComesAgainDisturbsNobody(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.notify(sdktest.Notice("r1"))
	d.expect(prompt)
	d.types("a")
	d.notify(sdktest.Notice("r1"))
	d.types("\n")
	if a := d.answered(); a.Decision != sdk.Approve {
		t.Errorf("answered %+v", a)
	}
	if n := strings.Count(d.screen(), "request    r1"); n != 1 {
		t.Errorf("the question was shown %d times", n)
	}
}

func TestOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.notify(sdktest.Notice("r1"))
	d.expect("request    r1", prompt)
	d.notify(sdktest.Notice("r2"))
	d.types("n\n")
	d.expect("request    r2", "[n]ext of 1 more", prompt)
	d.types("a\n")
	if a := d.answered(); a.ID != "r2" {
		t.Errorf("answered %s, want r2", a.ID)
	}
	d.expect("request    r1", prompt)
	d.types("a\n")
	if a := d.answered(); a.ID != "r1" {
		t.Errorf("answered %s, want r1", a.ID)
	}
}

func TestAnAnswerThatDoesNotCountSaysWhyAndIsAskedAgain(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.refuse <- &sdk.Refused{Reason: "the\x1b[2J call has changed"}
	d.notify(sdktest.Notice("r1"))
	d.expect(prompt)
	d.types("a\n")
	d.expect("This does not count: the\uFFFD[2J call has changed.", "request    r1", prompt)
	d.types("a\n")
	d.expect("The request is approved.")
}

func TestAVoteOfSeveralSaysThatItTakesMore(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.status = sdk.StatusPending
	n := sdktest.Notice("r1")
	n.Quorum = 2
	d.notify(n)
	d.expect("approved   0 of 2", prompt)
	d.types("a\n")
	d.expect("it takes more people")
}

func TestTheScreenSaysFirstWhatNoAgentWrote(t *testing.T) {
	t.Parallel()
	d := open(t)
	n := sdktest.Notice("r1")
	n.Risk, n.Agent = sdk.RiskHigh, sdk.Agent{ID: "claude", Confinement: "unconfined"}
	n.OnTimeout, n.Hidden, n.Call.Server = sdk.Approve, 3, "files"
	n.ExpiresAt = time.Now().Add(30*time.Minute + 30*time.Second)
	n.Sections[0].Lines = []string{"\x1b[2J\x07forged\u202e"}
	d.notify(n)
	d.expect(n.Summary, "risk       high", "claude (asserted: its own word) UNCONFINED", "then it is APPROVED by itself", "\uFFFD[2J\uFFFDforged\uFFFD", "shell.destructive: It deletes files.",
		"3 values", "door       anthropic", "server     files", "tool       Bash", "0123456789ab", prompt)
	if strings.ContainsAny(d.screen(), "\x1b\x07\u202e") {
		t.Error("the screen got a control character")
	}
}

func TestColour(t *testing.T) {
	for _, c := range []struct {
		name, setting string
		env           map[string]string
		want          bool
	}{
		{"on a terminal", "auto", map[string]string{"TERM": "xterm"}, true},
		{"not where NO_COLOR is set", "auto", map[string]string{"NO_COLOR": "1"}, false},
		{"not on a dumb terminal", "", map[string]string{"TERM": "dumb"}, false},
		{"where it is asked for", "always", map[string]string{"NO_COLOR": "1"}, true},
		{"never", "never", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := sit(t)
			ch := New(slog.New(slog.DiscardHandler), func(k string) string { return c.env[k] })
			if err := ch.Configure(t.Context(), config(p, func(conf *Config) { conf.Colour = c.setting })); err != nil {
				t.Fatal(err)
			}
			ch.screen.question(sdktest.Notice("r1"), time.Now())
			if err := ch.screen.flush(); err != nil {
				t.Fatal(err)
			}
			p.expect("rm -rf build", "digest")
			if got := strings.Contains(p.screen(), "\x1b["); got != c.want {
				t.Errorf("colour = %v, want %v", got, c.want)
			}
		})
	}
}

func TestATerminalThatOthersUseIsRefused(t *testing.T) {
	configure := func(t *testing.T, p *person, edit ...func(*Config)) error {
		t.Helper()
		ch := New(slog.New(slog.DiscardHandler), nothing)
		return ch.Configure(t.Context(), config(p, edit...))
	}
	refused := func(t *testing.T, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Configure = %v, want an error that says %q", err, want)
		}
	}
	t.Run("an agent's", func(t *testing.T) {
		p := sit(t)
		refused(t, configure(t, p, func(c *Config) { c.AgentTTYs = []string{"/dev/null", p.name} }), "an agent could answer there")
	})
	t.Run("not where the agent's is another, or gone", func(t *testing.T) {
		p, other := sit(t), sit(t)
		if err := configure(t, p, func(c *Config) { c.AgentTTYs = []string{other.name, "/dev/pts/999999"} }); err != nil {
			t.Error(err)
		}
	})
	t.Run("one that everybody may write to", func(t *testing.T) {
		p := sit(t)
		if err := os.Chmod(p.name, 0o622); err != nil {
			t.Fatal(err)
		}
		refused(t, configure(t, p), "everybody may write to it")
	})
	t.Run("one behind a link", func(t *testing.T) {
		p := sit(t)
		link := filepath.Join(t.TempDir(), "tty")
		if err := os.Symlink(p.name, link); err != nil {
			t.Fatal(err)
		}
		refused(t, configure(t, p, func(c *Config) { c.TTY = link }), "opening the terminal")
	})
	t.Run("what the group may do is taken away, and said", func(t *testing.T) {
		p := sit(t)
		if err := os.Chmod(p.name, 0o620); err != nil {
			t.Fatal(err)
		}
		if err := configure(t, p); err != nil {
			t.Fatal(err)
		}
		p.expect("mode 0620")
		if info, err := os.Stat(p.name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	})
}

func TestATerminalThatIsClosedEndsTheChannel(t *testing.T) {
	t.Parallel()
	ptm, pts, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pts.Close() }()
	if err := pts.Chmod(0o600); err != nil {
		t.Fatal(err)
	}
	ch := New(slog.New(slog.DiscardHandler), nothing)
	if err := ch.Configure(t.Context(), config(&person{name: pts.Name()})); err != nil {
		t.Fatal(err)
	}
	if err := ch.Health(t.Context()); err != nil {
		t.Errorf("Health = %v", err)
	}
	if err := ch.Notify(t.Context(), sdktest.Notice("r1")); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- ch.Answers(t.Context(), nil) }()
	if err := ptm.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ch.Health(t.Context()); err == nil {
		t.Error("Health = nil without a terminal")
	}
	select {
	case err := <-done:
		if err == nil {
			t.Error("Answers = nil")
		}
	case <-time.After(patience):
		t.Error("Answers goes on without a terminal")
	}
}
