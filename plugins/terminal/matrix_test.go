package terminal

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

func TestWhatEndsElsewhereSaysHow(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{"denied": "is denied already, by ada.", "expired": "is expired already.", "cancelled": "is cancelled already."} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			n := sdktest.Notice("r1")
			d.notify(n)
			d.expect(prompt)
			ended := sdktest.Ended(n)
			if ended.Status = status; status != "denied" {
				ended.Outcome = nil
			}
			d.types("a") // half an answer
			d.update(ended)
			d.expect("Request r1 " + want)
			d.types("\n")
			d.undecided()
		})
	}
}

func TestSomebodyClaimsAndLooks(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.status = sdk.StatusPending
	n := sdktest.Notice("r1")
	n.Answers = append(n.Answers, sdk.Claim, sdk.Unclaim, sdk.Seen)
	d.notify(n)
	d.expect("[c]laim", prompt)
	d.types("v\n")
	if a := d.answered(); a.Decision != sdk.Seen {
		t.Errorf("answered %+v", a)
	}
	d.expect(`"command": "rm -rf build"`, prompt)
	d.types("c\n")
	if a := d.answered(); a.Decision != sdk.Claim || a.By != "ada" {
		t.Errorf("answered %+v", a)
	}
	d.expect("Silence does not end it for now", "request    r1", prompt) // and it is asked on
	n.Claim = &sdk.Lease{By: "ada", Until: time.Now().Add(time.Hour)}
	n.Event = sdk.Claimed
	d.update(n)
	d.types("unclaim\n")
	if a := d.answered(); a.Decision != sdk.Unclaim {
		t.Errorf("answered %+v", a)
	}
	d.expect("Noted.", "unclaim", prompt)
	d.types("a\n")
	if a := d.answered(); a.Decision != sdk.Approve {
		t.Errorf("answered %+v", a)
	}
}

// A question that was on the screen when the channel ended is asked anew, and
// nothing that was typed at the old one answers it.
func TestARestartBetweenQuestionAndAnswer(t *testing.T) {
	t.Parallel()
	first := open(t)
	n := sdktest.Notice("r1")
	first.notify(n)
	first.expect(prompt)
	first.types("appro")
	_ = first.stop()
	first.undecided()
	again := open(t)
	again.notify(n)
	again.expect("request    r1", prompt)
	again.types("a\n")
	if a := again.answered(); a != n.Answer(sdk.Approve, "ada") {
		t.Errorf("answered %+v", a)
	}
}

// Nothing in a text is obeyed, and none begins where a field of the page does.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	texts := sdktest.Hostile()
	if len(texts) < 60 {
		t.Fatalf("%d texts", len(texts))
	}
	for i, s := range texts {
		var b strings.Builder
		sc := screen{out: &b, width: func() int { return 80 }}
		n := sdktest.Unkind(sdktest.Notice(fmt.Sprintf("h%d", i)), s)
		n.Kind, n.Options, n.Answers = "choice", []sdk.Option{{ID: s, Label: s}}, []string{sdk.Choose, sdk.Deny}
		sc.question(n, time.Now())
		sc.arguments(n)
		sc.prompt(n, 0)
		ended := sdktest.Ended(n)
		ended.Outcome.By = s
		sc.settled(ended)
		if err := sc.flush(); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if at := strings.IndexFunc(line, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }); at >= 0 {
				t.Errorf("%q: a screen obeys %q", s, line)
			}
			if strings.HasPrefix(line, "risk ") && line != "risk       medium" {
				t.Errorf("%q: forges %q", s, line)
			}
		}
	}
}
