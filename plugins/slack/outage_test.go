package slack

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/holdgate/holdgate/plugins/sdk"
)

func TestNothingIsPostedTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	n := asking("r1")
	// Its head arrives, then the message: both times the answer is lost.
	r.change(func() { r.lose["chat.postMessage"] = 1 })
	for i := range 2 {
		if err := r.c.Notify(t.Context(), n); err == nil || errors.Is(err, sdk.ErrPermanent) || strings.Contains(err.Error(), botToken) {
			t.Fatalf("try %d: %v", i, err)
		}
		r.change(func() { r.lose["chat.postMessage"] = 1 - i })
	}
	r.notify(n)
	r.notify(n)
	if len(r.posts) != 2 {
		t.Errorf("there are %d messages, want the head of the thread and one in it", len(r.posts))
	}
	if m := r.message("r1"); m.clientID == "" || m.edits == 0 {
		t.Errorf("it was not recognised: %+v", m)
	}
}

func TestWhileSlackIsDownNothingIsLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	r.wait("a connection", func() bool { return len(r.conns) == 1 })
	r.change(func() {
		r.down = true
		for _, c := range r.conns {
			_ = c.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1001, ""), time.Now().Add(time.Second))
			_ = c.Close()
		}
	})
	n := asking("r1")
	for range 3 {
		if err := r.c.Notify(t.Context(), n); err == nil || errors.Is(err, sdk.ErrPermanent) {
			t.Errorf("Notify = %v", err)
		}
	}
	r.wait("tries to connect", func() bool { return r.calls["apps.connections.open"] > 3 })
	if err := r.c.Health(t.Context()); err == nil {
		t.Error("it is healthy")
	}
	r.change(func() { r.down = false })
	r.notify(n)
	r.press(ann, r.message("r1"), "approve")
	if got := r.given(1); got[0].By != ann {
		t.Errorf("answers %v", got)
	}
	if err := r.c.Health(t.Context()); err != nil {
		t.Errorf("Health: %v", err)
	}
}

func TestButtonsWorkAfterARestart(t *testing.T) {
	for name, signed := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, signed)
			n, gone := asking("r1"), asking("r2")
			r.notify(n)
			r.notify(gone)
			r.stop()
			r.start()
			m := r.message("r1")
			r.press(ann, m, "approve")
			r.given(1)
			r.press(ann, m, "deny")
			r.submit(ann, 0, map[string]string{"reason": "no"})
			r.given(2)
			r.press(ann, m, "edit")
			r.told(ann, "try in a moment")
			// Holdgate tells again of what is open, and of what has ended.
			r.notify(n)
			r.press(ann, m, "edit")
			r.view(1)
			gone.Status, gone.Answers = "cancelled", nil
			r.update(gone)
			if ended := r.message("r2"); len(ended.buttons()) > 0 {
				t.Errorf("buttons %v", ended.buttons())
			}
			if len(r.posts) != 3 {
				t.Errorf("there are %d messages", len(r.posts))
			}
			if got := r.given(2)[0]; got.Nonce != n.Nonce || got.Digest != n.Digest {
				t.Errorf("the answer is %+v", got)
			}
		})
	}
}

func TestSlackIsGivenTheTimeItAsksFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	r.change(func() { r.limited["chat.postMessage"] = 1 })
	began := time.Now()
	r.notify(asking("r1"))
	if took := time.Since(began); took < time.Second {
		t.Errorf("it waited for %s", took)
	}
	r.change(func() { r.limited["chat.postMessage"] = 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
	defer cancel()
	before := r.calls["chat.postMessage"]
	for range 3 {
		if err := r.c.Notify(ctx, asking("r2")); err == nil {
			t.Error("Notify does not fail")
		}
	}
	if n := r.calls["chat.postMessage"] - before; n > 1 {
		t.Errorf("Slack was called %d times while it asked to wait", n)
	}
}

func TestAWrongTokenSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	for code, want := range map[string]string{"invalid_auth": "token is wrong", "missing_scope": "manifest"} {
		r.change(func() { r.refuse["auth.test"] = code })
		if err := r.c.Health(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Health = %v", err)
		}
	}
	r.change(func() { r.refuse["auth.test"] = "" })
	r.change(func() { r.refuse["chat.postMessage"] = "not_in_channel" })
	if err := r.c.Notify(t.Context(), asking("r1")); err == nil || !strings.Contains(err.Error(), "invite the app") {
		t.Errorf("Notify = %v", err)
	}
}

func TestMessagesOfOtherAppsAreNotItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	r.change(func() {
		r.posts = append(r.posts, &post{TS: r.id(), BotID: "B0000000EVE", Metadata: json.RawMessage(`{"event_type":"holdgate_session","event_payload":{"thread":"5e551015e551015e"}}`)})
		r.posts = append(r.posts, &post{TS: r.id(), Thread: r.posts[0].TS, BotID: "B0000000EVE", Metadata: json.RawMessage(`{"event_type":"holdgate_request","event_payload":{"id":"r1"}}`)})
	})
	r.notify(asking("r1"))
	if found := r.messages("r1"); len(found) != 2 || found[1].BotID != self || found[1].Thread == found[0].Thread {
		t.Errorf("%d messages", len(found))
	}
}

func TestAMessageThatWasDeletedIsPostedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	n := asking("r1")
	r.notify(n)
	r.change(func() { r.posts = r.posts[:1] })
	r.update(n)
	r.notify(n)
	if r.message("r1").Thread != r.posts[0].TS {
		t.Error("it stands elsewhere")
	}
}

func TestWhatSlackFindsTooLongIsShortenedAndNotApprovedHere(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	r.change(func() { r.tight = 7000 })
	n := asking("r1")
	n.Sections[0].Lines = slices.Repeat([]string{"echo this is one of many lines"}, 200)
	r.notify(n)
	r.notify(n)
	if got := r.message("r1").buttons(); !slices.Equal(got, []string{"deny", "steer", "claim"}) {
		t.Errorf("buttons %v", got)
	}
}

func TestALateRefusalIsSaidWhenTheDialogIsClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t, false)
	r.notify(asking("r1"))
	r.slow = make(chan struct{})
	r.says = func(sdk.Answer) (string, error) { return "", &sdk.Refused{Reason: "it has expired"} }
	r.press(ann, r.message("r1"), "deny")
	if errs := r.submit(ann, 0, nil); errs != nil {
		t.Errorf("the dialog says %v", errs)
	}
	close(r.slow)
	r.told(ann, "it has expired")
}
