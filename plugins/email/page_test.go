package email

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// linkOf is the secret of the link in a mail.
func linkOf(t *testing.T, m letterSeen) string {
	t.Helper()
	_, rest, ok := strings.Cut(m.text, "/#")
	if !ok || len(rest) < 32 || !isToken(rest[:32]) {
		t.Fatalf("no link in the mail:\n%s", m.text)
	}
	return rest[:32]
}

// browse asks the page for something, as a browser does.
func (b *bench) browse(method, path string, form url.Values, header map[string]string) (int, string, http.Header) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.conf.page+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	if h := header["Host"]; h != "" {
		req.Host = h
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(body), resp.Header
}

// decideWith posts a decision, with the digest of the request.
func (b *bench) decideWith(link string, n sdk.Notice, fields map[string]string) (int, string) {
	b.t.Helper()
	form := url.Values{"code": {link}, "digest": {n.Digest}}
	for k, v := range fields {
		form.Set(k, v)
	}
	status, body, _ := b.browse(http.MethodPost, "/decide", form, nil)
	return status, body
}

// codeNow is what ann's authenticator shows, once the clock has gone on by so
// many steps.
func (b *bench) codeNow(steps int64) string {
	if b.now.Load() == 0 {
		b.now.Store(time.Now().Unix())
	}
	at := b.now.Add(steps * stepSeconds)
	return code([]byte(authenticator), uint64(at)/stepSeconds)
}

func TestCodesAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	// RFC 6238, appendix B, the last six digits.
	for at, want := range map[uint64]string{59: "287082", 1111111109: "081804", 1234567890: "005924", 20000000000: "353130"} {
		if got := code([]byte(authenticator), at/stepSeconds); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
}

func TestGettingALinkShowsAndDecidesNothing(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	n := sdktest.Notice("r1")
	n.To = []string{ann}
	link := linkOf(t, b.ask(n)[ann])
	for _, path := range []string{"/", "/?code=" + link, "/?code=" + link + "&decision=deny", "/show?code=" + link, "/decide?code=" + link + "&decision=deny&digest=" + n.Digest} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			_, body, h := b.browse(method, path, nil, nil)
			if strings.Contains(body, "rm -rf") || strings.Contains(body, link) {
				t.Errorf("%s %s shows the request", method, path)
			}
			if !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s: headers %v", method, path, h)
			}
		}
	}
	if status, body, _ := b.browse(http.MethodPost, "/show", url.Values{"code": {link}}, nil); status != http.StatusOK || !strings.Contains(body, "rm -rf build") || !strings.Contains(body, `value="approve"`) {
		t.Errorf("%d %s", status, body)
	}
	b.unanswered()
}

func TestAPersonDecidesOnThePage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		edit   func(*sdk.Notice)
		fields map[string]string
		want   sdk.Answer
	}{
		{"approve", nil, map[string]string{"decision": "approve"}, sdk.Answer{Decision: "approve"}},
		{"deny", nil, map[string]string{"decision": "deny", "reason": "not today"}, sdk.Answer{Decision: "deny", Reason: "not today"}},
		{"steer", nil, map[string]string{"decision": "steer", "instructions": "use the trash"}, sdk.Answer{Decision: "steer", Instructions: "use the trash"}},
		{"choose", func(n *sdk.Notice) {
			n.Kind, n.Answers, n.Options = "choice", []string{sdk.Deny, sdk.Choose}, []sdk.Option{{ID: "a", Label: "To staging"}}
		}, map[string]string{"decision": "choose", "choice": "a"}, sdk.Answer{Decision: "choose", Choice: "a"}},
		{"edit", func(n *sdk.Notice) { n.Answers, n.Editable = append(n.Answers, sdk.Edit), "{}" }, map[string]string{"decision": "edit", "arguments": `{"command": "ls"}`}, sdk.Answer{Decision: "edit", Arguments: `{"command": "ls"}`}},
		{"claim", func(n *sdk.Notice) { n.Answers = append(n.Answers, sdk.Claim) }, map[string]string{"decision": "claim"}, sdk.Answer{Decision: "claim"}},
		{"a high risk by its word", func(n *sdk.Notice) { n.Risk = sdk.RiskHigh }, map[string]string{"decision": "approve", "word": "approve"}, sdk.Answer{Decision: "approve"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			conf := o.config()
			b := newBench(t, o, conf)
			n := sdktest.Notice("r1")
			n.To = []string{ann}
			if c.edit != nil {
				c.edit(&n)
			}
			link := linkOf(t, b.ask(n)[ann])
			b.stop() // the link works after a restart
			b = newBench(t, o, conf)
			c.fields["totp"] = b.codeNow(0)
			status, body := b.decideWith(link, n, c.fields)
			if status != http.StatusOK || !strings.Contains(body, "Thank you") {
				t.Fatalf("%d %s", status, body)
			}
			c.want.ID, c.want.Nonce, c.want.Digest, c.want.By = n.ID, n.Nonce, n.Digest, ann
			c.want.Assurance = sdk.Text
			if slices.Contains([]string{sdk.Approve, sdk.Choose, sdk.Edit}, c.want.Decision) {
				c.want.Assurance = sdk.Interactive // by the code
			}
			if got := b.answered(); got != c.want {
				t.Errorf("answered %+v, want %+v", got, c.want)
			}
			if c.name == "claim" {
				return
			}
			c.fields["totp"] = b.codeNow(5)
			if status, body := b.decideWith(link, n, c.fields); status != http.StatusConflict || !strings.Contains(body, "You have answered it") {
				t.Errorf("the link works twice: %d %s", status, body)
			}
			b.unanswered()
		})
	}
}

func TestWhatDoesNotCountOnThePage(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	n := sdktest.Notice("r1")
	mails := b.ask(n)
	mine, other := linkOf(t, mails[ann]), linkOf(t, mails[bob])
	high := sdktest.Notice("r2")
	high.Risk, high.To = sdk.RiskHigh, []string{ann}
	grave := linkOf(t, b.ask(high)[ann])
	closed := sdktest.Notice("r3")
	closed.Answers, closed.Closed, closed.To = []string{sdk.Deny}, "the call cannot be shown whole here", []string{ann}
	partial := linkOf(t, b.ask(closed)[ann])
	good := b.codeNow(0)
	for _, c := range []struct {
		name, link string
		n          sdk.Notice
		fields     map[string]string
		status     int
		want       string
	}{
		{"no such link", strings.Repeat("a", 32), n, map[string]string{"decision": "deny"}, 404, "nothing that is known"},
		{"the token of a reply", b.keys.token(forReply, n.ID, n.Digest, ann), n, map[string]string{"decision": "deny"}, 404, "nothing that is known"},
		{"no code", mine, n, map[string]string{"decision": "approve"}, 409, "authenticator is wrong"},
		{"a wrong code", mine, n, map[string]string{"decision": "approve", "totp": "000000"}, 409, "authenticator is wrong"},
		{"an old code", mine, n, map[string]string{"decision": "approve", "totp": code([]byte(authenticator), uint64(b.now.Load())/stepSeconds-5)}, 409, "authenticator is wrong"},
		{"nobody's authenticator", other, n, map[string]string{"decision": "approve", "totp": good}, 409, "no authenticator"},
		{"another form of the call", mine, sdk.Notice{Digest: "another"}, map[string]string{"decision": "deny"}, 409, "has changed"},
		{"a high risk without its word", grave, high, map[string]string{"decision": "approve", "totp": good}, 409, "type the words"},
		{"what may not be approved", partial, closed, map[string]string{"decision": "approve", "totp": good}, 409, "cannot be answered so"},
		{"steering nowhere", mine, n, map[string]string{"decision": "steer"}, 409, "what the agent shall do"},
		{"another decision", mine, n, map[string]string{"decision": "seen"}, 409, "cannot be answered so"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, body := b.decideWith(c.link, c.n, c.fields); status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("%d %s, want %d and %q", status, body, c.status, c.want)
			}
		})
	}
	b.unanswered()
	if _, body, _ := b.browse(http.MethodPost, "/show", url.Values{"code": {partial}}, nil); strings.Contains(body, `value="approve"`) || !strings.Contains(body, closed.Closed) {
		t.Errorf("approving is offered: %s", body)
	}
}

func TestACodeCountsOnceAndGuessingEnds(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	conf := o.config()
	b := newBench(t, o, conf)
	link := func(id string) (string, sdk.Notice) {
		n := sdktest.Notice(id)
		n.To = []string{ann}
		return linkOf(t, b.ask(n)[ann]), n
	}
	one, n1 := link("r1")
	two, n2 := link("r2")
	good := b.codeNow(0)
	if status, _ := b.decideWith(one, n1, map[string]string{"decision": "approve", "totp": good}); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	b.answered()
	at := b.now.Load()
	b.stop() // it is known after a restart
	b = newBench(t, o, conf)
	b.now.Store(at)
	if status, body := b.decideWith(two, n2, map[string]string{"decision": "approve", "totp": good}); status != http.StatusConflict || !strings.Contains(body, "used already") {
		t.Errorf("%d %s", status, body)
	}
	for range maxWrong {
		b.decideWith(two, n2, map[string]string{"decision": "approve", "totp": "000000"})
	}
	if _, body := b.decideWith(two, n2, map[string]string{"decision": "approve", "totp": b.codeNow(4)}); !strings.Contains(body, "too many wrong codes") {
		t.Errorf("guessing goes on: %s", body)
	}
	b.unanswered()
	if status, body := b.decideWith(two, n2, map[string]string{"decision": "approve", "totp": b.codeNow(40)}); status != http.StatusOK {
		t.Errorf("later: %d %s", status, body)
	}
}

func TestOtherPagesCannotUseThisOne(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	n := sdktest.Notice("r1")
	n.To = []string{ann}
	form := url.Values{"code": {linkOf(t, b.ask(n)[ann])}, "digest": {n.Digest}, "decision": {"deny"}}
	for _, header := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"},
	} {
		if status, body, _ := b.browse(http.MethodPost, "/decide", form, header); status/100 != 4 {
			t.Errorf("%v: %d %s", header, status, body)
		}
	}
	b.unanswered()
}

func TestWhatHoldgateSaysIsShown(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	n := sdktest.Notice("r1")
	n.To = []string{ann}
	link := linkOf(t, b.ask(n)[ann])
	b.say(func(sdk.Answer) (string, error) { return "", &sdk.Refused{Reason: "you do not have the role <lead>"} })
	if status, body := b.decideWith(link, n, map[string]string{"decision": "deny"}); status != http.StatusConflict || !strings.Contains(body, "you do not have the role &lt;lead&gt;") {
		t.Errorf("%d %s", status, body)
	}
	b.say(func(sdk.Answer) (string, error) { return "", errors.New("inner workings") })
	if status, body := b.decideWith(link, n, map[string]string{"decision": "deny"}); status != http.StatusServiceUnavailable || strings.Contains(body, "inner") {
		t.Errorf("%d %s", status, body)
	}
	if err := b.Update(t.Context(), sdktest.Ended(n)); err != nil {
		t.Fatal(err)
	}
	if status, body := b.decideWith(link, n, map[string]string{"decision": "deny"}); status != http.StatusConflict || !strings.Contains(body, "it is denied") {
		t.Errorf("after the end: %d %s", status, body)
	}
}

// Whatever the width of a screen, a part of a call stands beside its mark: the
// page does not break lines itself.
func TestLongLinesAreLeftToTheBrowser(t *testing.T) {
	long := strings.Repeat("x", 300) + "what       nothing happens"
	c := New(slog.New(slog.DiscardHandler))
	v := c.view("code", ticket{address: "ann@example.com"}, record{Notice: sdk.Notice{ID: "a", Details: []string{long}}}, "")
	var page strings.Builder
	if err := pageHTML.Execute(&page, v); err != nil {
		t.Fatal(err)
	}
	if want := `<div class="line marked"><span class="label">  | </span><span class="">` + long + `</span></div>`; !strings.Contains(page.String(), want) {
		t.Errorf("no line %s in\n%s", want, page.String())
	}
}
