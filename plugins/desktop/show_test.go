package desktop

import (
	"context"
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// names asks the bus who is on it.
func (r *rig) names(of *dbus.Conn) (unique []string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	var all []string
	if err := of.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.ListNames", 0).Store(&all); err != nil {
		r.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(n string) bool { return !strings.HasPrefix(n, ":") })
}

// send sends a signal to one on the bus alone.
func send(t *testing.T, from *dbus.Conn, to, of, member string, body ...any) {
	t.Helper()
	m := &dbus.Message{Type: dbus.TypeSignal, Body: body, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldInterface: dbus.MakeVariant(of), dbus.FieldMember: dbus.MakeVariant(member), dbus.FieldPath: dbus.MakeVariant(notificationsPath),
		dbus.FieldDestination: dbus.MakeVariant(to), dbus.FieldSignature: dbus.MakeVariant(dbus.SignatureOf(body...)),
	}}
	if call := from.Send(m, nil); call.Err != nil {
		t.Fatal(call.Err)
	}
}

func TestRiskTimeAndSilenceComeFirst(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)
	for _, c := range []struct {
		edit func(*sdk.Notice)
		want string
	}{
		{func(*sdk.Notice) {}, "MEDIUM RISK: 14m left, until 12:14:30, then denied"},
		{func(n *sdk.Notice) { n.Risk, n.OnTimeout = sdk.RiskCritical, sdk.Approve }, "CRITICAL RISK: 14m left, until 12:14:30, then APPROVED by itself"},
		{func(n *sdk.Notice) { n.Risk, n.ExpiresAt = "LOW", now.Add(90*time.Second) }, "UNKNOWN RISK: 1m30s left, until 12:01:30, then denied"},
		{func(n *sdk.Notice) { n.ExpiresAt = now.Add(-time.Second) }, "MEDIUM RISK: 0s left, until 11:59:59, then denied"},
		{func(n *sdk.Notice) { n.ExpiresAt = now.Add(10 * time.Hour) }, "MEDIUM RISK: 10h left, until 22:00:00, then denied"},
		{func(n *sdk.Notice) { n.ExpiresAt = time.Time{} }, "MEDIUM RISK"},
	} {
		n := asking("r1", func(n *sdk.Notice) { n.ExpiresAt = now.Add(14*time.Minute + 30*time.Second) }, c.edit)
		if got := title(n, now); got != c.want {
			t.Errorf("title %q, want %q", got, c.want)
		}
	}
	n := asking("r1", func(n *sdk.Notice) {
		n.Agent = sdk.Agent{ID: "claude", Confinement: "unconfined"}
		n.Call.Server, n.Waiting, n.Hidden, n.Warnings, n.Message = "files", 12, 3, []string{"it changes its own rules"}, "please"
		n.Sections = []sdk.Section{{Kind: "command", Lines: []string{"rm -rf build"}}, {Title: "tests", Kind: sdk.KindSaid, Lines: []string{"41 passed"}}}
	})
	lines, whole := body(n, 20, 44)
	want := []string{n.Summary, "claude (its own word), UNCONFINED", "NOT SHOWN: 3 values or characters", "WARNING: it changes its own rules",
		"12 more wait", "| rm -rf build", "why: shell.destructive: It deletes files.", "policy says: please",
		"the agent says, under tests, and nobody ", "  has checked:", "> 41 passed", "Bash of files, anthropic, 0123456789ab"}
	if !whole || !slices.Equal(lines, want) {
		t.Errorf("body %v\n%s", whole, strings.Join(lines, "\n"))
	}
}

func TestUrgencyFollowsRisk(t *testing.T) {
	t.Parallel()
	r := sit(t, nil)
	for risk, want := range map[string]byte{sdk.RiskLow: urgencyNormal, sdk.RiskMedium: urgencyNormal, sdk.RiskHigh: urgencyCritical, sdk.RiskCritical: urgencyCritical, "": urgencyCritical} {
		n := asking("risk-"+risk+".", func(n *sdk.Notice) { n.Risk = risk })
		r.tell(n)
		if shown := r.shows(n.Summary); shown.urgency() != want || shown.expire != 0 {
			t.Errorf("risk %q: urgency %d, expires %d", risk, shown.urgency(), shown.expire)
		}
	}
}

func TestWhereApprovingIsOffered(t *testing.T) {
	t.Parallel()
	long := func(n *sdk.Notice) {
		n.Sections = []sdk.Section{{Kind: "command", Lines: strings.Split(strings.Repeat("ls\n", 30)+"rm -rf /", "\n")}}
	}
	for _, c := range []struct {
		name string
		can  []string
		conf func(*Config)
		edit func(*sdk.Notice)
		want bool
	}{
		{"a confined agent's", usual, func(c *Config) { c.Approve = "" }, nil, true},
		{"a weakly confined agent's", usual, func(c *Config) { c.Approve = "" }, func(n *sdk.Notice) { n.Agent.Confinement = "weak" }, true},
		{"not an unconfined agent's", usual, func(c *Config) { c.Approve = "" }, func(n *sdk.Notice) { n.Agent.Confinement = "unconfined" }, false},
		{"not where that is unknown", usual, func(c *Config) { c.Approve = "" }, func(n *sdk.Notice) { n.Agent.Confinement = "" }, false},
		{"unless it is said", usual, nil, func(n *sdk.Notice) { n.Agent.Confinement = "unconfined" }, true},
		{"never", usual, func(c *Config) { c.Approve = never }, nil, false},
		{"not what does not fit", usual, nil, long, false},
		{"not what Holdgate could not show", usual, nil, func(n *sdk.Notice) { n.Whole = false }, false},
		{"not where Holdgate does not offer it", usual, nil, func(n *sdk.Notice) { n.Answers = []string{sdk.Deny} }, false},
		{"not where the desktop shows no body", []string{"actions"}, nil, nil, false},
		{"not where it has no buttons", []string{"body"}, nil, nil, false},
		{"not what is critical where nothing can be typed", usual, nil, critical, false},
		{"what is critical where it can", typing, nil, critical, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conf := func(*Config) {}
			if c.conf != nil {
				conf = c.conf
			}
			r := sit(t, c.can, conf)
			n := asking("r1")
			if c.edit != nil {
				c.edit(&n)
			}
			r.tell(n)
			shown := r.shows("RISK")
			if got := shown.key("Approve") != ""; got != c.want {
				t.Errorf("offered %v: %q\n%s", got, shown.labels, shown.body)
			}
			if slices.Contains(c.can, "actions") {
				if shown.key("Deny") == "" || shown.labels[0] != "Deny" {
					t.Errorf("buttons %q", shown.labels)
				}
			} else if len(shown.keys) != 0 || !strings.Contains(shown.body, "holdgate approve, deny or steer r1") {
				t.Errorf("buttons %q\n%s", shown.labels, shown.body)
			}
			if lines := strings.Split(shown.body, "\n"); len(lines) > 13 {
				t.Errorf("%d lines", len(lines))
			}
		})
	}
}

func TestAButtonForEachOptionOrNone(t *testing.T) {
	t.Parallel()
	r := sit(t, nil, func(c *Config) { c.Buttons = 3 })
	n := asking("r1", choice)
	r.tell(n) // one of the options takes typing
	if shown := r.shows("1. Staging"); !slices.Equal(shown.labels, []string{"Deny", "1. Staging", "Open page", "Open page"}) {
		t.Errorf("buttons %q", shown.labels)
	}
	n.ID, n.Nonce = "r2", "n2"
	n.Options = []sdk.Option{{ID: "a", Label: "A"}, {ID: "b", Label: "B"}, {ID: "c", Label: "C"}}
	r.tell(n)
	if shown := r.shows("3. C"); !slices.Equal(shown.labels, []string{"Deny", "Open page", "Open page"}) {
		t.Errorf("buttons %q", shown.labels)
	}
}

// Nothing in a text becomes markup, and the title is Holdgate's own.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	texts := sdktest.Hostile()
	if len(texts) < 60 {
		t.Fatalf("%d texts", len(texts))
	}
	for _, can := range [][]string{typing, {"actions", "body"}} {
		r := sit(t, can)
		for i, s := range texts {
			n := sdktest.Unkind(asking(fmt.Sprintf("h%d", i)), s)
			n.Risk = s
			n.Kind, n.Options, n.Answers = "choice", []sdk.Option{{ID: "a", Label: s}}, []string{sdk.Choose, sdk.Deny}
			r.tell(n)
			ended := sdktest.Ended(n)
			ended.Outcome.Reason, ended.Outcome.By = s, "ada"
			r.update(ended)
			news := sdktest.News(n.ID)
			news.Title, news.Lines = s, []string{s}
			if err := r.channel.Tell(t.Context(), news); err != nil {
				t.Errorf("%q: %v", s, err)
			}
		}
		if len(r.past) != 3*len(texts) {
			t.Fatalf("%d were shown", len(r.past))
		}
		for i, n := range r.past {
			shown := n.body
			if slices.Contains(can, "body-markup") {
				if strings.ContainsAny(n.body, "<>") || strings.Contains(strings.NewReplacer("&amp;", "", "&lt;", "", "&gt;", "").Replace(n.body), "&") {
					t.Errorf("%d: markup: %q", i, n.body)
				}
				shown = html.UnescapeString(n.body)
			} else if strings.Contains(n.body, "<") {
				t.Errorf("%d: a tag: %q", i, n.body)
			}
			for _, text := range append([]string{n.title, strings.ReplaceAll(shown, "\n", "")}, n.labels...) {
				if inert(text) != text {
					t.Errorf("%d: not safe to show: %q", i, text)
				}
			}
			if i%3 == 0 && !strings.HasPrefix(n.title, "UNKNOWN RISK: ") {
				t.Errorf("%d: title %q", i, n.title)
			}
			if i%3 == 0 && strings.Count(n.body, "\n") > 12 {
				t.Errorf("%d: too long: %q", i, n.body)
			}
		}
	}
}

func FuzzBody(f *testing.F) {
	for _, s := range sdktest.Hostile() {
		f.Add(s, 6, 44)
	}
	f.Fuzz(func(t *testing.T, s string, lines, columns int) {
		if lines < 4 || lines > 200 || columns < 20 || columns > 500 {
			t.Skip()
		}
		n := sdktest.Unkind(asking("r1"), s)
		got, whole := body(n, lines, columns)
		if len(got) > lines {
			t.Errorf("%d lines of %d", len(got), lines)
		}
		// A line that goes on begins with blanks or a mark.
		bare := func(text string) string { return strings.Join(strings.Fields(strings.ReplaceAll(text, "|", "")), "") }
		if shown := bare(strings.Join(got, "")); whole && !strings.Contains(shown, bare(inert(s))) {
			t.Errorf("whole, and without %q: %q", s, shown)
		}
	})
}
