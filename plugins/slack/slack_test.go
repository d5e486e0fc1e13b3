package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

func TestConformance(t *testing.T) {
	for name, signed := range modes {
		t.Run(name, func(t *testing.T) {
			sdktest.Run(t, sdktest.Subject{
				New: func(*testing.T) sdk.Channel { return New(slog.New(slog.DiscardHandler)) },
				Good: func(t *testing.T) string {
					raw, err := json.Marshal(config(t, newStandIn(t), signed))
					if err != nil {
						t.Fatal(err)
					}
					return string(raw)
				},
				Bad: map[string]string{
					"no channel":          `{}`,
					"a channel's name":    `{"channel": "#agents"}`,
					"no tokens":           `{"channel": "C0123456789"}`,
					"a user's name":       `{"channel": "C0123456789", "users": ["ann"]}`,
					"no way for answers":  `{"channel": "C0123456789", "users": ["U0000000ANN"]}`,
					"two ways":            `{"channel": "C0123456789", "users": ["U0000000ANN"], "app_token_file": "a", "signing_secret_file": "b", "listen": ":0"}`,
					"no listener":         `{"channel": "C0123456789", "users": ["U0000000ANN"], "signing_secret_file": "b"}`,
					"no bot token":        `{"channel": "C0123456789", "users": ["U0000000ANN"], "app_token_file": "/nowhere"}`,
					"the API in the open": `{"channel": "C0123456789", "users": ["U0000000ANN"], "app_token_file": "a", "api_url": "http://example.com/"}`,
				},
			})
		})
	}
}

// asking returns a request that may be answered in every way.
func asking(id string) sdk.Notice {
	n := sdktest.Life(id)[0]
	n.Quorum, n.To = 1, []string{ann}
	return n
}

func bound(n sdk.Notice, decision, by string) sdk.Answer { return n.Answer(decision, by) }

func TestEveryAnswerComesBack(t *testing.T) {
	for name, signed := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, signed)
			n := asking("r1")
			r.notify(n)
			m := r.message("r1")
			if diff := cmp.Diff([]string{"approve", "deny", "steer", "edit", "claim"}, m.buttons()); diff != "" {
				t.Fatalf("buttons (-want +got):\n%s", diff)
			}
			want := []sdk.Answer{bound(n, sdk.Approve, ann)}
			r.press(ann, m, "approve")
			r.given(1)
			r.press(ann, m, "deny")
			if errs := r.submit(ann, 0, map[string]string{"reason": "not today"}); errs != nil {
				t.Errorf("the dialog says %v", errs)
			}
			a := bound(n, sdk.Deny, ann)
			a.Reason = "not today"
			want = append(want, a)
			r.given(2)
			r.press(bob, m, "steer")
			if errs := r.submit(bob, 1, map[string]string{"instructions": "  "}); errs["instructions"] == "" {
				t.Error("directions may be empty")
			}
			r.submit(bob, 1, map[string]string{"instructions": "use the trash"})
			a = bound(n, sdk.Steer, bob)
			a.Instructions = "use the trash"
			want = append(want, a)
			r.given(3)
			r.press(ann, m, "edit")
			if got := r.view(2).Blocks[1].Element.InitialValue; got != n.Editable {
				t.Errorf("the dialog begins with %q", got)
			}
			for _, bad := range []string{`{`, `[]`, `{"a":1,"a":2}`, `null`, `{} {}`} {
				if errs := r.submit(ann, 2, map[string]string{"arguments": bad}); errs["arguments"] == "" {
					t.Errorf("%s is taken as arguments", bad)
				}
			}
			r.submit(ann, 2, map[string]string{"arguments": `{"command": "ls"}`, "reason": "safer"})
			a = bound(n, sdk.Edit, ann)
			a.Arguments, a.Reason = `{"command": "ls"}`, "safer"
			want = append(want, a)
			r.given(4)
			r.press(bob, m, "claim")
			want = append(want, bound(n, sdk.Claim, bob))
			if diff := cmp.Diff(want, r.given(5)); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			seen := slices.ContainsFunc(r.answers, func(a sdk.Answer) bool { return a.Decision == sdk.Seen && a.ID == "r1" && a.Nonce == n.Nonce })
			if !seen {
				t.Error("nobody has seen it")
			}
		})
	}
}

func TestAChoiceIsMadeWithAButton(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	n := asking("r1")
	n.Kind, n.Editable, n.Answers = "choice", "", []string{sdk.Deny, sdk.Choose}
	n.Options = []sdk.Option{{ID: "eu", Label: "Frankfurt", Effect: "approve"}, {ID: "us", Label: "Ohio", Effect: "approve"}, {ID: "x", Label: "Another", Other: true}}
	r.notify(n)
	m := r.message("r1")
	if diff := cmp.Diff([]string{"choose:0", "choose:1", "other:2", "deny"}, m.buttons()); diff != "" {
		t.Fatalf("buttons (-want +got):\n%s", diff)
	}
	r.press(ann, m, "choose:1")
	r.given(1)
	r.press(ann, m, "other:2")
	r.submit(ann, 0, map[string]string{"instructions": "on the moon"})
	us, own := bound(n, sdk.Choose, ann), bound(n, sdk.Choose, ann)
	us.Choice, own.Choice, own.Instructions = "us", "x", "on the moon"
	if diff := cmp.Diff([]sdk.Answer{us, own}, r.given(2)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestWhatDoesNotCountIsSaidToOnePerson(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	n := asking("r1")
	r.notify(n)
	m := r.message("r1")
	r.press(eve, m, "approve")
	r.told(eve, "does not name you")
	r.press(eve, m, "deny")
	r.wait("two refusals", func() bool { return len(r.ephemerals) == 2 })
	if len(r.answers) > 0 || len(r.views) > 0 {
		t.Errorf("a stranger gave %v", r.answers)
	}
	for i, why := range []string{"you lack the role security", "request r1 is denied already, by ann", "request r1 has expired"} {
		r.change(func() { r.says = func(sdk.Answer) (string, error) { return "", &sdk.Refused{Reason: why} } })
		r.press(bob, m, "approve")
		r.told(bob, why)
		r.press(bob, m, "deny")
		if errs := r.submit(bob, i, nil); !strings.Contains(errs["reason"], why) {
			t.Errorf("the dialog says %v", errs)
		}
	}
	r.change(func() { r.says = func(sdk.Answer) (string, error) { return "", errors.New("inner workings") } })
	r.press(bob, m, "approve")
	r.told(bob, "try again")
	r.change(func() { r.says = func(sdk.Answer) (string, error) { return sdk.StatusPending, nil } })
	r.press(bob, m, "approve")
	r.told(bob, "it takes more people")
	for _, p := range r.ephemerals {
		if p.Thread != m.Thread || strings.Contains(p.Text+string(p.Blocks), "inner") {
			t.Errorf("an ephemeral message stands in %q and says %s", p.Thread, p.Blocks)
		}
	}
}

func TestAMessageFollowsItsRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	for _, n := range sdktest.Life("r1") {
		n.To = map[bool][]string{false: {ann}, true: {ann, bob}}[n.Event == sdk.Escalated]
		if n.Event == sdk.Requested || n.Event == sdk.Escalated {
			r.notify(n)
		} else {
			r.update(n)
		}
		m := r.message("r1")
		switch n.Event {
		case sdk.Requested:
			if !strings.Contains(string(m.Blocks), ann) || strings.Contains(string(m.Blocks), bob) {
				t.Errorf("it calls others than ann: %s", m.Blocks)
			}
		case sdk.Escalated:
			if last := r.posts[len(r.posts)-1]; !strings.Contains(string(last.Blocks), bob) || strings.Contains(string(last.Blocks), ann) || last.Thread != m.Thread {
				t.Errorf("the call for bob is %s", last.Blocks)
			}
		case sdk.Claimed:
			if !slices.Contains(m.buttons(), "unclaim") {
				t.Errorf("buttons %v", m.buttons())
			}
		case sdk.Voted:
			if !strings.Contains(string(m.Blocks), "1 of 2 have approved") {
				t.Errorf("no progress: %s", m.Blocks)
			}
		case sdk.Decided:
			if len(m.buttons()) > 0 || !strings.Contains(m.Text, "Denied by ada") || !strings.Contains(string(m.Blocks), "not today") {
				t.Errorf("it ended as %s %s", m.Text, m.Blocks)
			}
		}
	}
	// One thread for a session, another one for another session.
	n := asking("r2")
	r.notify(n)
	if r.message("r2").Thread != r.message("r1").Thread || r.message("r2").Thread == "" {
		t.Error("a session has two threads")
	}
	n.ID, n.Thread = "r3", "another"
	r.notify(n)
	if r.message("r3").Thread == r.message("r1").Thread {
		t.Error("two sessions have one thread")
	}
	expired := asking("r2")
	expired.Status, expired.Answers, expired.Outcome = "expired", nil, &sdk.Outcome{Decision: "timeout", By: "policy", At: n.ExpiresAt}
	r.update(expired)
	if m := r.message("r2"); len(m.buttons()) > 0 || !strings.Contains(m.Text, "Expired by policy") {
		t.Errorf("it ended as %s", m.Text)
	}
}

func TestWhatCannotBeShownWholeIsNotApprovedHere(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	n := asking("long")
	var lines []string
	for i := range 5000 {
		lines = append(lines, fmt.Sprintf("echo %d is a long line of a long script", i))
	}
	n.Sections = []sdk.Section{{Title: "command", Kind: "command", Lines: lines}}
	r.notify(n)
	m := r.message("long")
	if diff := cmp.Diff([]string{"deny", "steer", "claim"}, m.buttons()); diff != "" {
		t.Errorf("buttons (-want +got):\n%s", diff)
	}
	for _, want := range []string{"are not shown here", "too long to be shown whole", "echo 0 is", "echo 4999 is", "risk "} {
		if !strings.Contains(string(m.Blocks), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	closed := asking("closed")
	closed.Answers, closed.Closed, closed.Whole = []string{sdk.Deny}, "the call cannot be shown whole here", false
	r.notify(closed)
	if got := r.message("closed").buttons(); !slices.Equal(got, []string{"deny"}) {
		t.Errorf("buttons %v", got)
	}
}

func TestWhatIsGraveIsAskedTwice(t *testing.T) {
	t.Parallel()
	for risk, twice := range map[string]bool{"low": false, "medium": false, "high": true, "critical": true, "": true} {
		n := asking("r1")
		n.Risk = risk
		for _, row := range buttons(n) {
			raw, err := json.Marshal([]any{row})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range (&post{Blocks: raw}).elements() {
				if e.ActionID == actionPrefix+sdk.Approve && (e.Confirm != nil) != twice {
					t.Errorf("risk %q: confirmed %v", risk, e.Confirm)
				}
			}
		}
	}
}

func TestNewsAreToldOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	r.change(func() { r.lose["chat.postMessage"] = 1 })
	if err := r.c.Tell(t.Context(), sdktest.News("n1")); err == nil {
		t.Error("a lost answer is no error")
	}
	for range 2 {
		if err := r.c.Tell(t.Context(), sdktest.News("n1")); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.posts) != 1 || !strings.Contains(string(r.posts[0].Blocks), "revision 3 is in force") {
		t.Errorf("%d posts", len(r.posts))
	}
}
