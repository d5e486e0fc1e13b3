package slack

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

func TestOnlyWhatSlackHasSignedCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t, true)
	r.notify(asking("r1"))
	m := r.message("r1")
	to := "http://" + r.c.listener.Addr().String() + "/slack"
	for _, c := range []struct {
		name   string
		secret string
		at     time.Duration
		edit   func(http.Header, *[]byte)
		want   int
	}{
		{name: "another secret", secret: strings.Repeat("0", 32), want: 401},
		{name: "too old", at: -5*time.Minute - 5*time.Second, want: 401},
		{name: "from the future", at: 5*time.Minute + 30*time.Second, want: 401},
		{name: "another body", edit: func(_ http.Header, b *[]byte) { *b = bytes.Replace(*b, []byte(ann), []byte(bob), 1) }, want: 401},
		{name: "another time", edit: func(h http.Header, _ *[]byte) { h.Set("X-Slack-Request-Timestamp", "1") }, want: 401},
		{name: "no signature", edit: func(h http.Header, _ *[]byte) { h.Del("X-Slack-Signature") }, want: 401},
		{name: "two signatures", edit: func(h http.Header, _ *[]byte) { h.Add("X-Slack-Signature", "v0=00") }, want: 401},
		{name: "another type", edit: func(h http.Header, _ *[]byte) { h.Set("Content-Type", "text/plain") }, want: 415},
		{name: "too long", edit: func(_ http.Header, b *[]byte) { *b = make([]byte, maxBody+1) }, want: 400},
	} {
		secret := signingSecret
		if c.secret != "" {
			secret = c.secret
		}
		body := []byte(url.Values{"payload": {string(r.pressing(ann, m, "approve"))}}.Encode())
		h := sign(secret, time.Now().Add(c.at), body)
		if c.edit != nil {
			c.edit(h, &body)
		}
		if status, answer := r.post(to, h, body); status != c.want {
			t.Errorf("%s: %d %s", c.name, status, answer)
		}
	}
	body := []byte(url.Values{"payload": {string(r.pressing(ann, m, "approve"))}}.Encode())
	h := sign(signingSecret, time.Now(), body)
	if status, _ := r.post(to, h, body); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	if status, _ := r.post(to, h, body); status != http.StatusConflict {
		t.Errorf("the same again: status %d", status)
	}
	challenge := []byte(`{"type":"url_verification","challenge":"abc"}`)
	h = sign(signingSecret, time.Now(), challenge)
	h.Set("Content-Type", "application/json")
	if status, answer := r.post(to, h, challenge); status != http.StatusOK || string(answer) != "abc" {
		t.Errorf("the challenge: %d %s", status, answer)
	}
	r.press(ann, m, "deny") // after all others
	r.submit(ann, 0, nil)
	if got := r.given(2); len(got) != 2 {
		t.Errorf("answers %v", got)
	}
}

func TestWhatComesTwiceOrFromElsewhereCountsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	r.notify(asking("r1"))
	m := r.message("r1")
	press := r.pressing(ann, m, "approve")
	r.envelope(press)
	r.envelope(press)
	r.envelope(bytes.ReplaceAll(r.pressing(ann, m, "approve"), []byte(channel), []byte("C0000000999")))
	r.envelope(bytes.ReplaceAll(r.pressing(ann, m, "approve"), []byte(actionPrefix), []byte("other-app:")))
	r.envelope([]byte(`{"type":"block_actions"}`))
	r.envelope([]byte(`{"type":"view_submission"}`))
	r.press(bob, m, "approve")
	if got := r.given(2); len(got) != 2 || got[0].By == got[1].By {
		t.Errorf("answers %v", got)
	}
}

// hostile are texts that try to be markup, or to look like something else.
func hostile() []string {
	return []string{
		"<!channel>", "<!here>", "<!everyone>", "<@U0000000ANN>", "<#C0123456789>", "<!subteam^S1>", "<https://evil.example|approve>", "<!date^1^{date}|x>",
		"*bold*", "_i_", "~s~", "`code`", "```", "```\nrisk low\n```", "> quote", ":white_check_mark:", "&lt;!channel&gt;", "&amp;", "@channel", "@here",
		"https://evil.example/x.png", "www.evil.example", "mailto:a@evil.example", "tel:+1", "slack://open", "\\u003c!channel\\u003e", "{\"type\":\"button\"}",
		"\nrisk       low", "\r\nApproved by ann", "\x1b[2J", "\x00", "\x07", "\u2028", "\u2029", "\u202e evil", "\u2066x\u2069", "\u200b", "\u200e", "\u200f", "\u061c",
		"\ufeff", "\u00ad", "\U000e0041", "\u2060", "\u180e", "\u0085", "\u007f", "\u009b", "⟨U+202E⟩", "-- end of what the agent says --", "--\n", "%s%n", "${x}", "<script>",
		"\u0440\u0430", "e\u0301\u0301\u0301", strings.Repeat("a", 4000), strings.Repeat("é", 3500), strings.Repeat("<", 3200), strings.Repeat("x\n", 4000), " ", "",
	}
}

func TestHostileTextsAreNoMarkup(t *testing.T) {
	t.Parallel()
	texts := hostile()
	if len(texts) < 60 {
		t.Fatalf("%d texts", len(texts))
	}
	r := newRig(t, true)
	for i, s := range texts {
		n := asking(fmt.Sprintf("h%d", i))
		n.Summary, n.Message, n.Reason, n.Rule, n.Agent.ID, n.Session, n.Call.Target, n.Risk = s, s, s, s, s, s, s, "high"
		n.Thread, n.Why, n.Warnings, n.Call.Kind = n.ID, []string{s}, []string{s}, "gate"
		n.Sections[0].Lines, n.Sections[0].Title = []string{s}, s
		r.notify(n)
		ended := sdktest.Ended(n)
		ended.Outcome.Reason = s
		for range 2 {
			for _, p := range r.posts[len(r.posts)-2:] {
				checkInert(t, p)
			}
			r.update(ended)
		}
		news := sdktest.News(n.ID)
		news.Title, news.Lines = s, []string{s}
		if err := r.c.Tell(t.Context(), news); err != nil {
			t.Errorf("news of %q: %v", s, err)
		}
		checkInert(t, r.posts[len(r.posts)-1])
	}
}

// checkInert checks that Slack looks for markup in none of a message but what
// the channel itself writes.
func checkInert(t *testing.T, p *post) {
	t.Helper()
	if strings.ContainsAny(p.Text, "<>") || strings.ContainsAny(p.Text, "\u202e\u2066\u200b\x1b\x00") {
		t.Errorf("the notification says %q", p.Text)
	}
	for _, b := range parseBlocks(p.Blocks) {
		switch b.Type {
		case "header", "section":
			if b.Text.Type != "plain_text" || b.Text.Emoji != nil && *b.Text.Emoji {
				t.Errorf("a %s is %+v", b.Type, b.Text)
			}
		case "context":
			for _, e := range b.Elements {
				if text := string(e.Text); !strings.Contains(text, "!date^") && !strings.Contains(text, "No time limit") || strings.Contains(text, "evil") || strings.Contains(text, "!channel") {
					t.Errorf("markup: %s", text)
				}
			}
		case "rich_text":
			for _, part := range b.Elements {
				for _, e := range part.Elements {
					if e.Type != "text" && (e.Type != "user" || e.UserID != ann) {
						t.Errorf("rich text has a %s", e.Type)
					}
					if strings.ContainsAny(string(e.Text), "\u202e\u2066\u200b\u061c\ufeff") {
						t.Errorf("it shows %s", e.Text)
					}
				}
			}
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1]}`, `[`, `{"a":1,"a":1}`, "", "null", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if why, _ := checkArguments(raw); why == "" && !strings.HasPrefix(strings.TrimSpace(raw), "{") {
			t.Errorf("%q passes", raw)
		}
	})
}

func FuzzFit(f *testing.F) {
	f.Add("a\nb", 9000)
	f.Add(strings.Repeat("line\n", 5000), 2500)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 1000 || limit > 20_000 {
			return
		}
		n := asking("r1")
		n.Sections[0].Lines = strings.Split(text, "\n")
		parts, whole := fit(groups(n, time.Now()), limit)
		size := 0
		for _, p := range parts {
			if len(p) > 3000 {
				t.Errorf("a part has %d bytes", len(p))
			}
			size += len(p)
		}
		if size > limit+500 {
			t.Errorf("%d bytes of %d (whole %v)", size, limit, whole)
		}
	})
}
