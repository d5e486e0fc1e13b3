package desktop

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	newDesk(b)
	sdktest.Run(t, sdktest.Subject{
		New: func(t *testing.T) sdk.Channel {
			c := New(slog.New(slog.DiscardHandler))
			t.Cleanup(c.leave)
			return c
		},
		Good: func(*testing.T) string { return string(config(b)) },
		Bad: map[string]string{
			"a bus of another machine":   `{"bus": "tcp:host=example.com,port=1"}`,
			"two buses":                  `{"bus": "unix:path=/a;unix:path=/b"}`,
			"a bus without a socket":     `{"bus": "unix:guid=1"}`,
			"a page that is none":        `{"page": "javascript:alert(1)"}`,
			"a page with a password":     `{"page": "https://a:b@example.com/"}`,
			"an unknown way to approve":  `{"approve": "sometimes"}`,
			"a notification of one line": `{"lines": 1}`,
			"narrow columns":             `{"columns": 3}`,
			"too many buttons":           `{"buttons": 99}`,
		},
	})
}

func choice(n *sdk.Notice) {
	n.Kind, n.Answers = "choice", []string{sdk.Choose, sdk.Deny}
	n.Options = []sdk.Option{{ID: "staging", Label: "Staging", Effect: "approve"}, {ID: "own", Label: "Elsewhere", Other: true}}
}

func high(n *sdk.Notice) { n.Risk = sdk.RiskHigh }

func critical(n *sdk.Notice) { n.Risk = sdk.RiskCritical }

func TestAnswers(t *testing.T) {
	t.Parallel()
	const typed = "type: "
	for _, c := range []struct {
		name  string
		edit  []func(*sdk.Notice)
		steps []string // buttons, and texts after "type: "
		want  sdk.Answer
	}{
		{"approve", nil, []string{"Approve"}, sdk.Answer{Decision: sdk.Approve}},
		{"deny", nil, []string{"Deny"}, sdk.Answer{Decision: sdk.Deny}},
		{"deny with a reason", nil, []string{"Deny and say why", typed + "not today"}, sdk.Answer{Decision: sdk.Deny, Reason: "not today"}},
		{"think better of saying why", nil, []string{"Deny and say why", "Go back", "Approve"}, sdk.Answer{Decision: sdk.Approve}},
		{"type nothing", nil, []string{"Do something else", typed + " ", "Deny"}, sdk.Answer{Decision: sdk.Deny}},
		{"steer", nil, []string{"Do something else", typed + "use the trash"}, sdk.Answer{Decision: sdk.Steer, Instructions: "use the trash"}},
		{"choose", []func(*sdk.Notice){choice}, []string{"1. Staging"}, sdk.Answer{Decision: sdk.Choose, Choice: "staging"}},
		{"choose with words", []func(*sdk.Notice){choice}, []string{"2. Elsewhere", typed + "Mars"}, sdk.Answer{Decision: sdk.Choose, Choice: "own", Instructions: "Mars"}},
		{"high risk is asked twice", []func(*sdk.Notice){high}, []string{"Approve…", "Yes, I mean it"}, sdk.Answer{Decision: sdk.Approve}},
		{"and can be taken back", []func(*sdk.Notice){high}, []string{"Approve…", "No, go back", "Deny"}, sdk.Answer{Decision: sdk.Deny}},
		{"unknown risk is asked twice", []func(*sdk.Notice){func(n *sdk.Notice) { n.Risk = "" }}, []string{"Approve…", "Yes, I mean it"}, sdk.Answer{Decision: sdk.Approve}},
		{"what is hidden is asked twice", []func(*sdk.Notice){func(n *sdk.Notice) { n.Hidden = 3 }}, []string{"Approve…", "Yes, I mean it"}, sdk.Answer{Decision: sdk.Approve}},
		{"a choice of high risk is asked twice", []func(*sdk.Notice){choice, high}, []string{"1. Staging", "Yes, I mean it"}, sdk.Answer{Decision: sdk.Choose, Choice: "staging"}},
		{"critical risk takes the words", []func(*sdk.Notice){critical}, []string{"Approve…", typed + "approve ./build"}, sdk.Answer{Decision: sdk.Approve}},
		{"and no others", []func(*sdk.Notice){critical}, []string{"Approve…", typed + "approve", "Deny"}, sdk.Answer{Decision: sdk.Deny}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := sit(t, typing)
			n := asking("r1", c.edit...)
			r.tell(n)
			for _, s := range c.steps {
				if words, ok := strings.CutPrefix(s, typed); ok {
					r.types(r.with(keyReply), words)
					continue
				}
				r.press(r.button(s), s)
			}
			c.want.ID, c.want.Nonce, c.want.Digest, c.want.By = n.ID, n.Nonce, n.Digest, "ada"
			if diff := cmp.Diff(c.want, r.answered()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			r.shows("The request is approved.")
			r.undecided()
		})
	}
}

// button waits for a notification with the button.
func (r *rig) button(label string) (found note) {
	r.t.Helper()
	r.until("has the button "+label, func() bool {
		for _, n := range r.notes {
			if n.key(label) != "" {
				found = n
				return true
			}
		}
		return false
	})
	return found
}

// with waits for a notification with the key.
func (r *rig) with(key string) (found note) {
	r.t.Helper()
	r.until("has the key "+key, func() bool {
		for _, n := range r.notes {
			for _, k := range n.keys {
				if k == key {
					found = n
					return true
				}
			}
		}
		return false
	})
	return found
}

func TestWhoMayNotVoteIsTold(t *testing.T) {
	t.Parallel()
	r := sit(t, nil)
	r.refuse <- &sdk.Refused{Reason: "ada <b>may</b> not approve this"}
	r.tell(asking("r1"))
	r.press(r.shows("r1"), "Approve")
	r.answered()
	n := r.shows("This does not count: ada &lt;b&gt;may&lt;/b&gt; not approve this")
	r.press(n, "Deny") // the question is still there
	if a := r.answered(); a.Decision != sdk.Deny {
		t.Errorf("answered %+v", a)
	}
}

func TestAQuorumShowsItsProgress(t *testing.T) {
	t.Parallel()
	r := sit(t, nil)
	r.status = sdk.StatusPending
	n := asking("r1", func(n *sdk.Notice) { n.Quorum = 2 })
	r.tell(n)
	first := r.shows("0 of 2 have approved")
	n.Votes, n.Approved, n.Event = 1, []string{"bob"}, sdk.Voted
	r.update(n)
	second := r.shows("1 of 2 have approved bob")
	if second.id != first.id || second.hints["suppress-sound"].Value() != true {
		t.Errorf("shown anew: %+v", second)
	}
	r.press(second, "Approve")
	r.answered()
	r.shows("it takes more people")
	n.Votes, n.Approved = 2, []string{"bob", "ada"}
	r.update(n) // does not ask the same person again
	r.undecided()
	r.empty("have approved")
}

func TestWhatIsDecidedElsewhereSaysSoAndPasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		edit       func(*sdk.Notice)
	}{
		{"denied", "DENIED by ada", func(*sdk.Notice) {}},
		{"expired", "EXPIRED: nobody answered in time", func(n *sdk.Notice) { n.Status, n.Outcome.Decision = "expired", "timeout" }},
		{"cancelled", "CANCELLED by claude", func(n *sdk.Notice) { n.Status, n.Outcome = "cancelled", &sdk.Outcome{Decision: "cancel", By: "claude"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := sit(t, nil)
			n := asking("r1")
			r.tell(n)
			r.tell(asking("r2"))
			shown := r.shows("r1")
			k := shown.key("Approve")
			ended := sdktest.Ended(n)
			c.edit(&ended)
			r.update(ended)
			end := r.shows(c.want)
			if end.id != shown.id || len(end.keys) != 0 || end.expire <= 0 || end.urgency() != urgencyLow {
				t.Errorf("shown %+v", end)
			}
			r.invoke(shown.id, k) // pressed before it was replaced
			r.undecided()
			r.shows("r2") // is still there
		})
	}
}

func TestWhatIsPutAwayStaysAwayUntilMoreAreAsked(t *testing.T) {
	t.Parallel()
	r := sit(t, nil)
	n := asking("r1")
	r.tell(n)
	r.dismiss(r.shows("r1"))
	n.Event, n.Claim = sdk.Claimed, &sdk.Lease{By: "bob", Until: time.Now().Add(time.Hour)}
	r.undecided() // after it was heard
	r.update(n)
	r.empty("r1")
	n.Event = sdk.Escalated
	r.tell(n)
	r.press(r.shows("r1"), "Approve")
	r.answered()
}

func TestAButtonCountsOnceAndOnlyForWhatWasShown(t *testing.T) {
	t.Parallel()
	r := sit(t, nil)
	n := asking("r1")
	r.tell(n)
	shown := r.shows("r1")
	old := shown.key("Approve")
	n.Nonce, n.Digest = "other", strings.Repeat("f", 64)
	n.Sections = []sdk.Section{{Kind: "command", Lines: []string{"rm -rf /"}}}
	r.tell(n)
	now := r.shows("rm -rf /")
	if now.id != shown.id {
		t.Errorf("the changed call is another notification")
	}
	r.emit("ActionInvoked", shown.id, old) // of the call that has changed
	r.emit("ActionInvoked", shown.id, "approve")
	r.emit("ActionInvoked", shown.id, "")
	r.emit("ActionInvoked", uint32(7), "yes")
	r.emit("NotificationReplied", shown.id, "approve")
	r.emit("NotificationClosed", uint32(999), uint32(2))
	r.emit("ActionInvoked", "not", "these", "types")
	r.undecided()
	for range 3 {
		r.emit("ActionInvoked", now.id, now.key("Approve"))
	}
	if a := r.answered(); a.Nonce != "other" || a.Digest != n.Digest {
		t.Errorf("answered %+v", a)
	}
	r.undecided()
}

func TestAStrangersSignalsAreIgnored(t *testing.T) {
	t.Parallel()
	r := sit(t, typing)
	r.tell(asking("r1"))
	n := r.shows("r1")
	stranger := r.bus.dial()
	for _, s := range []string{"ActionInvoked", "NotificationReplied"} {
		if err := stranger.Emit(notificationsPath, notifications+"."+s, n.id, n.key("Approve")); err != nil {
			t.Fatal(err)
		}
	}
	// to the channel itself, past what it asked the bus for
	r.channel.mu.Lock()
	server := r.channel.server.name
	r.channel.mu.Unlock()
	for _, to := range r.names(stranger) {
		if to == server || to == stranger.Names()[0] {
			continue
		}
		for _, s := range [][2]string{{notifications, "ActionInvoked"}, {busName, "NameOwnerChanged"}} {
			send(t, stranger, to, s[0], s[1], n.id, n.key("Approve"))
		}
	}
	// the bus hands on what the stranger has sent before it answers
	r.names(stranger)
	r.undecided()
}

func TestAButtonThatHasJustAppearedDoesNotCount(t *testing.T) {
	t.Parallel()
	r := sit(t, nil)
	r.channel.minShown = time.Hour
	r.tell(asking("r1"))
	r.press(r.shows("r1"), "Approve")
	again := r.shows(saidSoon)
	if again.key("Approve") == "" {
		t.Errorf("not asked again: %+v", again)
	}
	if len(r.answers) != 0 {
		t.Error("it was answered")
	}
}

func TestThePageIsOpenedAndSeen(t *testing.T) {
	t.Parallel()
	for _, k := range []string{"Open page", keyDefault} {
		r := sit(t, nil)
		r.tell(asking("r1"))
		n := r.shows("r1")
		if k == keyDefault {
			r.invoke(n.id, k)
		} else {
			r.press(n, k)
		}
		if a := r.answered(); a.Decision != sdk.Seen || a.ID != "r1" {
			t.Errorf("answered %+v", a)
		}
		if len(r.opened) != 1 || r.opened[0] != "http://127.0.0.1:7301/r/r1" {
			t.Errorf("opened %q", r.opened)
		}
	}
}

func TestNewsAreToldOnce(t *testing.T) {
	t.Parallel()
	r := sit(t, nil)
	news := sdktest.News("news-1")
	for range 2 {
		if err := r.channel.Tell(t.Context(), news); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.shows(news.Title); n.times != 1 || len(n.keys) != 0 || n.urgency() != urgencyNormal || len(r.past) != 1 {
		t.Errorf("shown %+v", n)
	}
}
