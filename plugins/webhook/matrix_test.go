package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/document"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

func TestEveryAnswerCanBePosted(t *testing.T) {
	t.Parallel()
	p := newPoster(t)
	bound := `{"id":"r1","nonce":"n1","digest":"d1","by":"ada",`
	want := sdk.Answer{ID: "r1", Nonce: "n1", Digest: "d1", By: "ada"}
	for i, c := range []struct {
		body string
		edit func(*sdk.Answer)
	}{
		{`"decision":"approve"}`, func(a *sdk.Answer) { a.Decision = sdk.Approve }},
		{`"decision":"deny","reason":"not today"}`, func(a *sdk.Answer) { a.Decision, a.Reason = sdk.Deny, "not today" }},
		{`"decision":"steer","instructions":"use the trash"}`, func(a *sdk.Answer) { a.Decision, a.Instructions = sdk.Steer, "use the trash" }},
		{`"decision":"choose","choice":"b"}`, func(a *sdk.Answer) { a.Decision, a.Choice = sdk.Choose, "b" }},
		{`"decision":"edit","arguments":{"command":"ls"}}`, func(a *sdk.Answer) { a.Decision, a.Arguments = sdk.Edit, `{"command":"ls"}` }},
		{`"decision":"claim"}`, func(a *sdk.Answer) { a.Decision = sdk.Claim }},
		{`"decision":"unclaim"}`, func(a *sdk.Answer) { a.Decision = sdk.Unclaim }},
		{`"decision":"seen"}`, func(a *sdk.Answer) { a.Decision = sdk.Seen }},
	} {
		if code, raw, _ := p.signed(bound+c.body, time.Now()); code != http.StatusOK {
			t.Errorf("%s: %d %s", c.body, code, raw)
		}
		a := want
		c.edit(&a)
		if diff := cmp.Diff(a, p.got[i]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.body, diff)
		}
	}
}

// Each change is an event with an id of its own, and the same again is not.
func TestEachChangeIsAnEventOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	c := newChannel(t, func(conf *Config) { conf.URL = r.URL })
	life := sdktest.Life("r1")
	expired := life[len(life)-1]
	expired.Status, expired.Outcome = "expired", &sdk.Outcome{Decision: "timeout", By: "holdgate"}
	for range 2 {
		for _, n := range append(life, expired) {
			tell := c.Update
			if n.Event == sdk.Requested || n.Event == sdk.Escalated {
				tell = c.Notify
			}
			if err := tell(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := c.Tell(t.Context(), sdktest.News("news-1")); err != nil {
				t.Fatal(err)
			}
		}
	}
	ids := map[string]int{}
	var statuses []string
	for _, raw := range r.bodies {
		var e struct {
			ID, Type, Subject string
			Data              struct{ Status, Title string }
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		ids[e.ID]++
		statuses = append(statuses, e.Data.Status)
		if news := e.Type == "com.github.holdgate.news"; news != (e.Data.Title != "") || news != (e.Subject == "news-1") {
			t.Errorf("event %+v", e)
		}
	}
	if want := len(life) + 2; len(ids) != want {
		t.Errorf("%d ids of %d events, want %d: %v", len(ids), len(r.bodies), want, ids)
	}
	if got := statuses[len(life)]; got != "expired" {
		t.Errorf("statuses %q", statuses)
	}
}

func TestHealthTriesBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	c := newChannel(t, func(conf *Config) { conf.URL = r.URL })
	if err := c.Health(t.Context()); err != nil || len(r.bodies) > 0 {
		t.Errorf("Health = %v, and %d events were sent", err, len(r.bodies))
	}
	r.Close()
	if err := c.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "the receiver is not reached") {
		t.Errorf("with nobody there Health = %v", err)
	}
}

// While the receiver is down nothing is lost and the channel says so; what
// arrives when it is back has the id and the nonce of the first try.
func TestTheReceiverIsDown(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	c := newChannel(t, func(conf *Config) { conf.URL = r.URL })
	c.pause = time.Hour // the host tries again
	n := sdktest.Notice("r1")
	r.status = []int{503, 503}
	for range 2 {
		if err := c.Notify(t.Context(), n); err == nil || errors.Is(err, sdk.ErrPermanent) {
			t.Errorf("Notify = %v", err)
		}
		if err := c.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "503") {
			t.Errorf("Health = %v", err)
		}
	}
	if err := c.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if err := c.Health(t.Context()); err != nil {
		t.Errorf("Health = %v", err)
	}
	for _, raw := range r.bodies {
		var e struct {
			ID   string
			Data struct{ Nonce string }
		}
		if err := json.Unmarshal(raw, &e); err != nil || e.ID != "r1.requested.pending.0.0123456789ab" || e.Data.Nonce != n.Nonce {
			t.Errorf("%v: %s", err, raw)
		}
	}
}

// A receiver that was told before a restart answers after it: the channel keeps
// nothing, and what binds an answer is in it.
func TestARestartBetweenQuestionAndAnswer(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	n := sdktest.Notice("r1")
	if err := newChannel(t, func(conf *Config) { conf.URL = r.URL }).Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	var e struct{ Data document.Notice }
	if err := json.Unmarshal(r.bodies[0], &e); err != nil {
		t.Fatal(err)
	}
	p := newPoster(t) // another channel with the same secret
	if code, raw, _ := p.signed(fmt.Sprintf(`{"id":%q,"nonce":%q,"digest":%q,"decision":"approve","by":"ada"}`, e.Data.ID, e.Data.Nonce, e.Data.Digest), time.Now()); code != http.StatusOK {
		t.Errorf("%d %s", code, raw)
	}
	if len(p.got) != 1 || p.got[0] != n.Answer(sdk.Approve, "ada") {
		t.Errorf("answers %+v", p.got)
	}
}

// A text is a JSON string whatever is in it, in the body and nowhere else.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	texts := sdktest.Hostile()
	if len(texts) < 60 {
		t.Fatalf("%d texts", len(texts))
	}
	r := newReceiver(t)
	c := newChannel(t, func(conf *Config) { conf.URL = r.URL })
	for i, s := range texts {
		n := sdktest.Unkind(sdktest.Notice(fmt.Sprintf("h%d", i)), s)
		if err := errors.Join(c.Notify(t.Context(), n), c.Update(t.Context(), sdktest.Ended(n))); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		for _, raw := range r.bodies[2*i:] {
			var e struct {
				SpecVersion, Subject string
				Data                 document.Notice
			}
			err := json.Unmarshal(raw, &e)
			if err != nil || e.Subject != n.ID || e.SpecVersion != "1.0" || e.Data.Risk != n.Risk || e.Data.Summary != s && s != "\xff\xfe" {
				t.Errorf("%q: %v: %+v", s, err, e)
			}
		}
		for name, values := range r.headers[2*i] {
			if len(s) > 3 && strings.Contains(strings.Join(values, ""), s) {
				t.Errorf("%q is in the header %s", s, name)
			}
		}
	}
}
