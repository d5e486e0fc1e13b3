package telegram

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	file := func(*testing.T) string { return write(t, "token", botToken) }
	good := func(s string) string { return fmt.Sprintf(`{"token_file": %q, %s}`, file(t), s) }
	sdktest.Run(t, sdktest.Subject{
		New:  func(*testing.T) sdk.Channel { return New(slog.New(slog.DiscardHandler)) },
		Good: func(t *testing.T) string { return config(t, newTelegram(t), filepath.Join(t.TempDir(), "state")) },
		Bad: map[string]string{
			"no token":             `{"chat": 1, "users": [1]}`,
			"no such token":        `{"token_file": "/nowhere", "chat": 1, "users": [1]}`,
			"no token in the file": fmt.Sprintf(`{"token_file": %q, "chat": 1, "users": [1]}`, write(t, "x", "hunter2")),
			"no chat":              good(`"users": [1]`),
			"nobody may answer":    good(`"chat": 1`),
			"a group may answer":   good(`"chat": 1, "users": [-5]`),
			"in the clear":         good(`"chat": 1, "users": [1], "api": "http://example.com"`),
			"state in no folder":   good(`"chat": 1, "users": [1], "state_file": "/nowhere/at/all"`),
			"state of another":     good(fmt.Sprintf(`"chat": 1, "users": [1], "state_file": %q`, write(t, "s", "{}"))),
		},
	})
}

func TestTheTokenIsInNoErrorAndNoLog(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	c := New(slog.New(slog.NewTextHandler(&log, nil)))
	g := newTelegram(t)
	if err := c.Configure(t.Context(), []byte(config(t, g, ""))); err != nil {
		t.Fatal(err)
	}
	g.change(func() {
		g.fail = append(g.fail, func(string) (int, string) { return 400, "Bad Request: /bot" + botToken + "/x" })
	})
	errs := []error{c.Health(t.Context()), c.Notify(t.Context(), asked())}
	g.Close()
	errs = append(errs, c.Health(t.Context()), c.Notify(t.Context(), asked()), fmt.Errorf("%v %s %q %x %d %#v", c.api.token, c.api.token, c.api.token, c.api.token, c.api.token, c.api.token))
	for _, err := range errs {
		if err == nil || strings.Contains(err.Error(), "AAtest") || strings.Contains(err.Error(), "4141") {
			t.Errorf("error %v", err)
		}
	}
	if strings.Contains(log.String(), "AAtest") {
		t.Errorf("log %s", &log)
	}
}

func TestATokenThatOthersCanReadIsRefused(t *testing.T) {
	t.Parallel()
	path := write(t, "token", botToken)
	for _, mode := range []os.FileMode{0o640, 0o604} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, _, err := readToken(path); err == nil || !strings.Contains(err.Error(), "only its owner") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

func TestPressingAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		label, want string
		edit        func(*sdk.Notice)
	}{
		{"Approve", sdk.Approve, nil},
		{"Deny", sdk.Deny, nil},
		{"I am looking", sdk.Claim, func(n *sdk.Notice) { n.Answers = append(n.Answers, sdk.Claim, sdk.Unclaim) }},
		{"no longer", sdk.Unclaim, func(n *sdk.Notice) {
			n.Answers, n.Claim = append(n.Answers, sdk.Claim, sdk.Unclaim), &sdk.Lease{By: "ada"}
		}},
		{"2. left", sdk.Choose, choice},
	} {
		t.Run(c.label, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			n := asked()
			if c.edit != nil {
				c.edit(&n)
			}
			d.notify(n)
			d.press(ada, d.shows("MEDIUM RISK"), c.label)
			want := n.Answer(c.want, "1001")
			if c.want == sdk.Choose {
				want.Choice = "l"
			}
			if diff := cmp.Diff(want, d.answered()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if a := d.alerted("approved"); a.Alert {
				t.Error("what counts has to be put away")
			}
		})
	}
}

func choice(n *sdk.Notice) {
	n.Kind, n.Answers = "choice", []string{sdk.Deny, sdk.Choose}
	n.Options = []sdk.Option{{ID: "r", Label: "right"}, {ID: "l", Label: "left"}, {ID: "o", Label: "other", Other: true}}
}

func TestWordsAreTakenAsReplies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		label string
		edit  func(*sdk.Notice)
		want  func(n sdk.Notice) sdk.Answer
		again bool
	}{
		{"Deny and say why", func(*sdk.Notice) {}, func(n sdk.Notice) sdk.Answer { a := n.Answer(sdk.Deny, "1001"); a.Reason = "use trash"; return a }, false},
		{"something else", func(*sdk.Notice) {}, func(n sdk.Notice) sdk.Answer {
			a := n.Answer(sdk.Steer, "1001")
			a.Instructions = "use trash"
			return a
		}, false},
		{"3. other", choice, func(n sdk.Notice) sdk.Answer {
			a := n.Answer(sdk.Choose, "1001")
			a.Choice, a.Instructions = "o", "use trash"
			return a
		}, true},
	} {
		t.Run(c.label, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			n := asked(c.edit)
			d.notify(n)
			d.press(ada, d.shows("MEDIUM RISK"), c.label)
			p := d.shows("You: reply")
			if !p.Markup.Force || !p.Markup.Sel || p.Reply == nil {
				t.Errorf("the prompt is %+v", p)
			}
			d.write(bob, p, "mine")
			d.shows("for the one who pressed")
			d.write(eve, p, "mine")
			d.write(ada, p, "forwarded", map[string]any{"forward_origin": map[string]any{"type": "user"}})
			d.write(ada, p, "use trash")
			if c.again {
				d.press(ada, d.shows("Choose this?"), "Yes")
			}
			if diff := cmp.Diff(c.want(n), d.answered()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			d.undecided()
		})
	}
}

func TestArgumentsAreEditedAndShownBeforeTheyCount(t *testing.T) {
	t.Parallel()
	d := open(t)
	n := asked(func(n *sdk.Notice) {
		n.Answers = append(n.Answers, sdk.Edit)
		n.Editable = "{\n  \"command\": \"rm -rf build\"\n}"
	})
	d.notify(n)
	d.press(ada, d.shows("MEDIUM RISK"), "Change the arguments")
	p := d.shows("all of them, as JSON")
	for _, bad := range []string{"rm", `["x"]`, `{"a":1,"a":2}`, "{\u201ccommand\u201d: 1}", "{\"command\": \"ls \u202e\"}"} {
		d.write(ada, p, bad)
		d.shows("Nothing was decided")
		d.change(func() { d.messages = d.messages[:len(d.messages)-1] })
	}
	d.write(ada, p, `{"command": "rm -r build/tmp"}`)
	q := d.shows("with these arguments instead?")
	if !strings.Contains(q.Text, "-  \"command\": \"rm -rf build\"") || !strings.Contains(q.Text, "+  \"command\": \"rm -r build/tmp\"") {
		t.Errorf("the difference is not shown: %s", q.Text)
	}
	d.undecided()
	d.press(ada, q, "Yes")
	want := n.Answer(sdk.Edit, "1001")
	want.Arguments = `{"command": "rm -r build/tmp"}`
	if diff := cmp.Diff(want, d.answered()); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestWhatIsGraveIsAskedTwice(t *testing.T) {
	t.Parallel()
	for _, risk := range []string{sdk.RiskHigh, "", sdk.RiskCritical} {
		t.Run("risk "+risk, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			n := asked(func(n *sdk.Notice) { n.Risk = risk })
			d.notify(n)
			d.press(ada, d.shows("RISK"), "Approve…")
			if risk == sdk.RiskCritical {
				p := d.shows("this call is CRITICAL")
				d.write(ada, p, "approve")
				d.shows("these are not the words")
				d.write(ada, p, "approve ./build")
			}
			q := d.shows("Approve this call?")
			d.press(bob, q, "Yes")
			d.alerted("the one who pressed")
			d.press(ada, q, "No")
			d.shows("Nothing was decided.")
			d.press(ada, q, "Yes") // a phone that has not seen that yet
			d.alerted("out of date")
			d.undecided()
			if risk == sdk.RiskCritical {
				return
			}
			d.press(ada, d.shows("rm -rf build"), "Approve…")
			q = d.shows("Approve this call?")
			d.press(ada, q, "Yes")
			d.press(ada, q, "Yes")
			if got := d.answered(); got != n.Answer(sdk.Approve, "1001") {
				t.Errorf("answered %+v", got)
			}
			d.alerted("out of date")
			d.undecided()
		})
	}
}

func TestAButtonThatHasJustAppearedDoesNotCount(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.channel.minShown = time.Hour
	d.notify(asked(func(n *sdk.Notice) { n.Risk = sdk.RiskHigh }))
	d.press(ada, d.shows("HIGH RISK"), "Approve…")
	d.press(ada, d.shows("Approve this call?"), "Yes")
	d.alerted("Read it first")
	d.undecided()
}

func TestForgedAndStrangeCallbacks(t *testing.T) {
	t.Parallel()
	d := open(t)
	n := asked()
	d.notify(n)
	m := d.shows("MEDIUM RISK")
	approve := m.button("Approve")
	for what, press := range map[string]func(){
		"not among those": func() { d.callback(eve, m.Chat, m.ID, approve) },
		"out of date":     func() { d.callback(ada, m.Chat, m.ID, strings.ToUpper(approve)) },
	} {
		press()
		if a := d.alerted(what); !a.Alert {
			t.Errorf("%s: passes by", what)
		}
	}
	d.callback(ada, ada, m.ID, approve) // of another chat
	d.alerted("out of date")
	others := New(d.channel.log) // a button of somebody who knows the request, but not the token
	others.open[n.ID] = &question{notice: n}
	made := others.button(n, button{request: n.ID, chat: m.Chat, do: sdk.Approve})
	for _, data := range []string{"", "approve", n.ID, strings.Repeat("A", 64), made} {
		d.callback(ada, m.Chat, m.ID, data)
		d.alerted("out of date")
	}
	d.push(map[string]any{"callback_query": map[string]any{"id": "cb", "from": map[string]any{"id": ada}, "data": approve}}) // an inline message's
	d.alerted("out of date")
	d.push(map[string]any{"message": map[string]any{"text": "approve", "chat": map[string]any{"id": ada}}})
	changed := n
	changed.Digest, changed.Nonce = strings.Repeat("f", 64), "another"
	d.notify(changed)
	d.callback(ada, m.Chat, m.ID, approve) // of the call as it was
	d.alerted("out of date")
	changed.Answers = []string{sdk.Deny}
	d.notify(changed)
	d.undecided()
}

func TestWhatHoldgateSaysReachesThePerson(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.says = func(a sdk.Answer) (string, error) {
		switch a.By {
		case "1002":
			return sdk.StatusPending, &sdk.Refused{Reason: "bob does not have the role security " + strings.Repeat("x", 500)}
		}
		return "", fmt.Errorf("inner workings")
	}
	d.notify(asked())
	m := d.shows("MEDIUM RISK")
	d.press(bob, m, "Approve")
	if a := d.alerted("does not have the role"); !a.Alert {
		t.Error("it passes by")
	}
	d.press(ada, m, "Approve")
	d.alerted("try again")
	if strings.Contains(d.dump(), "inner workings") {
		t.Error("errors are shown")
	}
}
