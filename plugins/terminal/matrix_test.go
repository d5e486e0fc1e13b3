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
	n.Event, n.People = sdk.Claimed, []string{"claimed by ada until later"}
	d.update(n)
	d.expect("Request r1: claimed by ada until later.", prompt)
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

// While a question is on the screen it says who has voted and what is missing,
// and what was half typed before that counts for nothing.
func TestAQuorumIsFollowedOnTheScreen(t *testing.T) {
	t.Parallel()
	d := open(t)
	n := sdktest.Notice("r1")
	n.Quorum = 3
	d.notify(n)
	d.expect("approved   0 of 3", prompt)
	d.types("appro") // half an answer
	n.Votes, n.Approved, n.Event = 1, []string{"bob"}, sdk.Voted
	d.update(n)
	d.expect("Request r1: 1 of 3 have approved: bob; it takes 2 more.", prompt)
	d.status = sdk.StatusPending
	d.types("a\n")
	if a := d.answered(); a.Decision != sdk.Approve {
		t.Errorf("answered %+v", a)
	}
	d.expect("Your approval counts; it takes more people.")
	n.Votes, n.Approved = 2, []string{"bob", "ada"}
	d.update(n)
	d.expect("Request r1: 2 of 3 have approved: bob, ada; it takes 1 more.")
	d.update(n) // the same again
	n.ExpiresAt, n.People = n.ExpiresAt.Add(time.Hour), []string{"for the role security"}
	d.update(n)
	d.expect("Request r1: for the role security.", "Request r1: there is time until ")
	d.update(sdktest.Ended(n))
	d.expect("Request r1 is denied, by ada: not today.")
	d.undecided()
	if n := strings.Count(d.screen(), "2 of 3 have approved"); n != 1 {
		t.Errorf("it is said %d times", n)
	}
}

// Nobody hears of what they have answered for good, nor of what is not on the
// screen.
func TestWhatIsOverForAPersonIsNotFollowed(t *testing.T) {
	t.Parallel()
	d := open(t)
	first, second := sdktest.Notice("r1"), sdktest.Notice("r2")
	first.Quorum, second.Quorum = 2, 2
	d.notify(first)
	d.expect(prompt)
	d.notify(second)
	second.Votes = 1
	d.update(second)
	d.types("d\n")
	d.expect("Why")
	first.Votes = 1
	d.update(first) // while words are asked for: it is said later
	d.types("\n")
	d.expect("The request is approved.", "Request r1: 1 of 2 have approved; it takes 1 more.", "request    r2", prompt)
	d.update(sdktest.Ended(first))
	d.update(sdktest.Ended(second))
	d.expect("Request r2 is denied already, by ada.")
	if strings.Contains(d.screen(), "Request r1 is denied") || strings.Contains(d.screen(), "Request r2: ") {
		t.Error("it is said all the same")
	}
}
