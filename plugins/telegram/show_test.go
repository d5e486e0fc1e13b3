package telegram

import (
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

func TestWhatIsDecidedElsewhereIsShown(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"denied", "approved", "expired", "cancelled", "steered"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			n := asked(func(n *sdk.Notice) { n.Risk = sdk.RiskHigh })
			d.notify(n)
			m := d.shows("HIGH RISK")
			d.press(ada, m, "Approve…")
			q := d.shows("Approve this call?")
			end := sdktest.Ended(n)
			end.Status = status
			d.update(end)
			d.await("the buttons are gone", func() bool {
				return len(d.messages[0].Markup.Rows)+len(d.messages[1].Markup.Rows) == 0 && d.messages[1].Edits > 0 && strings.HasPrefix(d.messages[0].Text, strings.ToUpper(status))
			})
			d.press(ada, m, "Deny") // on a phone that has not seen it
			d.alerted("out of date")
			d.press(ada, q, "Yes")
			d.alerted("out of date")
			d.undecided()
			d.stop()
			if all := d.list(); len(all) != 2 || !strings.Contains(all[0].Text, "not today") {
				t.Errorf("shown: %s", d.dump())
			}
			if len(d.channel.buttons)+len(d.channel.prompts)+len(d.channel.open)+len(d.channel.state.kept.Posts) != 0 {
				t.Error("something is left of it")
			}
		})
	}
}

func TestAQuorumShowsItsProgress(t *testing.T) {
	t.Parallel()
	d := open(t)
	n := asked(func(n *sdk.Notice) { n.Quorum = 2 })
	d.notify(n)
	d.says = func(sdk.Answer) (string, error) { return sdk.StatusPending, nil }
	d.press(ada, d.shows("0 of 2 have approved"), "Approve")
	d.answered()
	d.alerted("takes more people")
	n.Votes, n.Approved = 1, []string{"ada"}
	d.update(n)
	m := d.shows("1 of 2 have approved")
	d.press(bob, m, "Approve")
	if a := d.answered(); a.By != "1002" {
		t.Errorf("answered %+v", a)
	}
}

func TestPeopleAreToldWhereTheyAre(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.notify(asked(func(n *sdk.Notice) { n.To = []string{"1001", "eve", "6666"} }))
	d.notify(asked(func(n *sdk.Notice) { n.To = []string{"1001", "1002"} })) // escalated
	if all := d.list(); len(all) != 2 || all[0].Chat != ada || all[1].Chat != bob {
		t.Errorf("shown: %s", d.dump())
	}
	d.change(func() { d.blocked[bob] = true })
	d.notify(asked(func(n *sdk.Notice) { n.ID, n.To = "req-2", []string{"1002"} }))
	if m := d.shows("req-2"); m.Chat != groupChat {
		t.Errorf("nobody was told: %s", d.dump())
	}
}

func TestASessionIsAThread(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, id := range []string{"req-1", "req-2", "req-3"} {
		d.notify(asked(func(n *sdk.Notice) { n.ID, n.Thread = id, "t" }))
	}
	if all := d.list(); all[0].Reply != nil || all[1].Reply == nil || all[1].Reply.Message != 1 || all[2].Reply.Message != 1 {
		t.Errorf("shown: %s", d.dump())
	}
}

func TestTheSameAgainIsNoSecondMessage(t *testing.T) {
	t.Parallel()
	d := open(t)
	n := asked()
	d.notify(n)
	d.change(func() {
		d.fail = append(d.fail, func(m string) (int, string) {
			if m == "editMessageText" {
				return 400, "Bad Request: message is not modified: specified new message content is exactly the same"
			}
			return 0, ""
		})
	})
	d.notify(n)
	if len(d.list()) != 1 {
		t.Errorf("shown: %s", d.dump())
	}
	d.change(func() { d.fail = nil; d.messages = nil }) // somebody has removed it
	d.notify(n)
	d.shows("MEDIUM RISK")
}

func TestNewsAreTold(t *testing.T) {
	t.Parallel()
	d := open(t)
	for range 2 {
		if err := d.channel.Tell(t.Context(), sdktest.News("news-1")); err != nil {
			t.Error(err)
		}
	}
	if m := d.shows("The policy has changed"); len(d.list()) != 1 || m.Chat != groupChat {
		t.Errorf("shown: %s", d.dump())
	}
}

func TestARestartBetweenQuestionAndAnswer(t *testing.T) {
	t.Parallel()
	g, file := newTelegram(t), filepath.Join(t.TempDir(), "state.json")
	d := start(t, g, file)
	n := asked()
	d.notify(n)
	m := d.shows("MEDIUM RISK")
	d.press(eve, m, "Deny")
	d.alerted("not among")
	d.await("it has read that", func() bool { return d.read == d.last+1 })
	d.stop()

	d = start(t, g, file)
	d.await("it goes on where it was", func() bool { return d.polls > 2 && d.read == d.last+1 })
	d.notify(n) // Holdgate tells of it again
	if m2 := d.shows("MEDIUM RISK"); len(d.list()) != 1 || m2.button("Approve") != m.button("Approve") {
		t.Errorf("shown: %s", d.dump())
	}
	d.press(ada, m, "Approve")
	if a := d.answered(); a != n.Answer(sdk.Approve, "1001") {
		t.Errorf("answered %+v", a)
	}
	d.await("it has read that", func() bool { return d.read == d.last+1 })
	d.stop()

	d = start(t, g, file) // it ended while Holdgate was away
	d.update(sdktest.Ended(n))
	d.shows("DENIED")
	if len(d.list()) != 1 {
		t.Errorf("shown: %s", d.dump())
	}
	d.undecided()
}

func TestAnOldOffsetIsDropped(t *testing.T) {
	t.Parallel()
	s := newState("")
	now := time.Now()
	if err := s.read(7, now); err != nil {
		t.Fatal(err)
	}
	if a, b := s.offset(now.Add(time.Hour)), s.offset(now.Add(7*24*time.Hour)); a != 8 || b != 0 {
		t.Errorf("offsets %d, %d", a, b)
	}
}

func TestTheSameUpdateTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.notify(asked())
	m := d.shows("MEDIUM RISK")
	d.press(ada, m, "Deny")
	d.answered()
	d.await("it has read that", func() bool { return d.read == d.last+1 })
	d.channel.handle(t.Context(), update{ID: 501, Callback: &callback{ID: "cb", From: account{ID: ada}, Data: m.button("Deny"), Message: &message{Chat: chat{ID: m.Chat}}}}, nil)
	d.undecided()
}

// Telegram is away for as long as it likes: what was pressed meanwhile counts
// when it is back, and what could not be told is an error.
func TestThePlaceIsDown(t *testing.T) {
	t.Parallel()
	d := open(t)
	n := asked()
	d.notify(n)
	m := d.shows("MEDIUM RISK")
	down, failed := true, 0
	d.change(func() {
		d.fail = append(d.fail, func(string) (int, string) {
			if !down {
				return 0, ""
			}
			failed++
			return 502, "Bad Gateway"
		})
	})
	d.push(map[string]any{"message": map[string]any{"message_id": 1, "chat": map[string]any{"id": 1}}}) // ends the poll that runs
	late := time.Now().Add(patience)
	for d.channel.Health(t.Context()) == nil && time.Now().Before(late) {
	}
	if err := d.channel.Notify(t.Context(), asked(func(n *sdk.Notice) { n.ID = "req-2" })); err == nil || !strings.Contains(err.Error(), "502") {
		t.Errorf("Notify = %v", err)
	}
	if err := d.channel.Update(t.Context(), sdktest.Ended(n)); err == nil {
		t.Error("nobody was told of the end, and that was no error")
	}
	d.change(func() { down = false })
	d.notify(n)
	d.press(ada, m, "Deny")
	d.answered()
	if err := d.channel.Health(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTelegramsPauseIsKept(t *testing.T) {
	t.Parallel()
	d := open(t)
	asks := 0
	d.change(func() {
		d.fail = append(d.fail, func(m string) (int, string) {
			if m == "sendMessage" {
				if asks++; asks == 1 {
					return 429, "Too Many Requests: retry after 1"
				}
			}
			return 0, ""
		})
	})
	began := time.Now()
	d.notify(asked())
	if took := time.Since(began); took < time.Second || asks != 2 {
		t.Errorf("asked %d times in %v", asks, took)
	}
}

func TestHealthNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{401: "token_file", 409: "another program"} {
		g := newTelegram(t)
		d := start(t, g, "")
		g.change(func() { g.fail = append(g.fail, func(string) (int, string) { return code, "no" }) })
		if err := d.channel.Health(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", code, err)
		}
	}
}

func TestHealthFindsAChatThatTheBotIsNotIn(t *testing.T) {
	t.Parallel()
	c := New(slog.New(slog.DiscardHandler))
	elsewhere := strings.Replace(config(t, newTelegram(t), ""), "-100200300", "-100200301", 1)
	if err := c.Configure(t.Context(), []byte(elsewhere)); err != nil {
		t.Fatal(err)
	}
	if err := c.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "chat not found") {
		t.Errorf("error %v", err)
	}
}

func TestWhatDoesNotFitIsNotApproved(t *testing.T) {
	t.Parallel()
	d := open(t)
	lines := strings.Split(strings.Repeat("echo 0123456789\n", 400)+"rm -rf /", "\n")
	n := asked(func(n *sdk.Notice) {
		n.Sections[0].Lines, n.Details = lines, lines
		n.Answers, n.Editable = append(n.Answers, sdk.Edit), "{}"
	})
	d.notify(n)
	m := d.shows("too long for Telegram")
	if m.button("Approve") != "" || m.button("Change") != "" || m.button("Deny") == "" || !strings.Contains(m.Text, "lines are not shown here") || !strings.Contains(m.Text, "rm -rf /") {
		t.Errorf("shown: %+v", m)
	}
	for _, do := range []string{sdk.Approve, sdk.Edit} { // and its button can't be made up
		d.callback(ada, m.Chat, m.ID, New(d.channel.log).button(n, button{request: n.ID, chat: m.Chat, do: do}))
		d.alerted("out of date")
	}
	d.undecided()
}

// Nothing in a text becomes markup, a link, a mention or a command: what could be
// one is code.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	d := open(t)
	for i, s := range hostile() {
		n := asked(func(n *sdk.Notice) {
			n.Risk, n.Agent.ID, n.Session, n.Message, n.Summary, n.Call.Target, n.Reason = s, s, s, s, s, s, s
			n.Sections = []sdk.Section{{Title: s, Kind: "command", Lines: []string{s}}, {Title: s, Kind: sdk.KindSaid, Lines: []string{s}}}
			n.Kind, n.Options, n.Answers = "choice", []sdk.Option{{ID: "a", Label: s}}, []string{sdk.Choose, sdk.Deny}
		})
		d.notify(n)
		m := d.shows("UNKNOWN RISK")
		code := utf16.Encode([]rune(m.Text))
		if len(m.Entities) < 3 || m.Entities[0].Type != "bold" || m.Entities[0].Offset != 0 || !m.Preview.Disabled {
			t.Fatalf("%d: entities %+v", i, m.Entities)
		}
		if own := string(utf16.Decode(code[:m.Entities[0].Length])); !strings.HasPrefix(own, "UNKNOWN RISK. Without an answer it is denied at ") || strings.Contains(own, s) {
			t.Errorf("%d: the head is %q", i, own)
		}
		for _, e := range m.Entities[1:] {
			if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > len(code) {
				t.Fatalf("%d: %+v of %d", i, e, len(code))
			}
			if e.Type == "code" || e.Type == "pre" {
				for at := e.Offset; at < e.Offset+e.Length; at++ {
					code[at] = 'x'
				}
			}
		}
		if found := linkable.FindString(string(utf16.Decode(code[m.Entities[0].Length:]))); found != "" {
			t.Errorf("%d: outside of code is %q", i, found)
		}
		if strings.ContainsFunc(m.Text, func(r rune) bool { return inert(string(r)) != string(r) }) {
			t.Errorf("%d: not safe to show: %q", i, m.Text)
		}
	}
}

// linkable is what Telegram could make something of by itself.
var linkable = regexp.MustCompile(`\S*([@#$/]|[.。．]\S|[0-9]{5})\S*`)

func hostile() (texts []string) {
	for _, r := range []rune{
		0x00, 0x07, 0x08, 0x09, 0x0b, 0x0c, 0x0d, 0x1b, 0x7f, 0x85, 0x9b, 0xad, 0x034f, 0x061c, 0x115f, 0x17b4, 0x180b, 0x180e, 0x2000, 0x200b,
		0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x202f, 0x2060, 0x2066, 0x2067, 0x2068, 0x2069, 0x2800, 0x3164, 0xfeff, 0xe0041, 0x10ffff,
	} {
		texts = append(texts, "ls "+string(r)+"x")
	}
	return append(texts,
		"<b>x</b>", "*bold* _it_ `code`", "```\nLOW RISK\n```", "</pre><a href=\"https://x\">x</a>", "[approve](tg://user?id=1)", "@everyone", "/approve@bot", "#tag $USD",
		"https://example.com/x", "tg://resolve?domain=x", "t.me/x", "\n\nLOW RISK. Without an answer", "💥💥💥", "e\u0301\u0301\u0301", "\xff\xfe", "a\x00b", "||spoiler||", ">quote",
		strings.Repeat("💥", 30), "cu\u0440l https://\u0430pple.com",
	)
}
