package slack

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/slack-go/slack"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// How many presses are worked on at a time, and how long Slack waits for the
// answer to a dialog: less than its three seconds.
const (
	atOnce   = 16
	patience = 2 * time.Second
)

// A desk takes what people press and send.
type desk struct {
	c      *Channel
	answer sdk.Answerer
	slots  chan struct{}
	work   sync.WaitGroup
}

// do works on something beside its caller, who waits only while there is too
// much to do.
func (d *desk) do(ctx context.Context, f func()) {
	select {
	case d.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	d.work.Go(func() {
		defer func() { <-d.slots }()
		f()
	})
}

// A place is where somebody is told what became of their answer.
type place struct{ user, thread string }

// press does what buttons say.
func (d *desk) press(ctx context.Context, cb slack.InteractionCallback) {
	at := place{user: cb.User.ID, thread: cb.Message.ThreadTimestamp}
	if cb.Channel.ID != d.c.conf.Channel {
		d.c.log.Warn("a button was pressed in another channel", "channel", cb.Channel.ID, "user", at.user)
		return
	}
	for _, b := range cb.ActionCallback.BlockActions {
		name, ours := strings.CutPrefix(b.ActionID, actionPrefix)
		if !ours {
			continue
		}
		r, err := readRef(b.Value)
		if err != nil {
			d.c.log.Warn("a button has no request", "user", at.user)
			d.tell(ctx, at, "This button is broken: nothing was decided.")
			continue
		}
		if why := d.deaf(at.user, r.ID); why != "" {
			d.c.log.Warn("somebody who may not answer pressed a button", "user", at.user)
			d.tell(ctx, at, why)
			continue
		}
		name, _, _ = strings.Cut(name, ":")
		d.pressed(ctx, at, name, r, cb.TriggerID)
	}
}

// hears reports whether a user may answer a request here: one whom the channel's
// configuration names, or Holdgate among those who may approve it. Whether the
// answer counts is for Holdgate to say.
func (c *Channel) hears(user string, n sdk.Notice) bool {
	return userID.MatchString(user) && (slices.Contains(c.conf.Users, user) || slices.Contains(n.Voters, user))
}

// deaf says, in words for them, why a user is not heard about a request, or
// nothing where they are.
func (d *desk) deaf(user, request string) string {
	n, known := d.c.openRequest(request)
	switch {
	case d.c.hears(user, n):
		return ""
	case !known:
		return "Your answer does not count: either the request has ended, or Holdgate has just been started. Then try again in a moment."
	}
	return "Your answer does not count: Holdgate's configuration does not name you, neither among the users of this channel nor among those who may approve this."
}

// pressed does what one button says.
func (d *desk) pressed(ctx context.Context, at place, name string, r ref, trigger string) {
	switch name {
	case sdk.Approve, sdk.Choose, sdk.Claim, sdk.Unclaim:
		if refused := d.give(ctx, r.answer(name, at.user), at); refused != "" {
			d.tell(ctx, at, refused)
		}
	case sdk.Deny, sdk.Steer, sdk.Edit, other:
		d.openDialog(ctx, at, name, r, trigger)
	default:
		d.tell(ctx, at, "This button is of another version of Holdgate: nothing was decided.")
	}
}

// openDialog opens a dialog.
func (d *desk) openDialog(ctx context.Context, at place, name string, r ref, trigger string) {
	n, known := d.c.openRequest(r.ID)
	switch {
	case known && (n.Nonce != r.Nonce || n.Digest != r.Digest):
		d.tell(ctx, at, "The call has changed since this was shown: nothing was decided.")
		return
	case name == sdk.Edit && (!known || n.Editable == ""):
		d.tell(ctx, at, "The arguments cannot be edited here just now. If Holdgate has been started again, try in a moment.")
		return
	}
	view, err := modal(n, name, dialog{Ref: r, Decision: name, Thread: at.thread})
	if err == nil {
		err = d.c.call(ctx, "views.open", func(ctx context.Context) error {
			_, err := d.c.api.OpenViewContext(ctx, trigger, view)
			return err
		})
	}
	if err != nil {
		d.c.log.Warn("a dialog could not be opened", "err", err)
		d.tell(ctx, at, "The dialog could not be opened: nothing was decided. Press the button again.")
		return
	}
	if known && n.May(sdk.Seen) {
		if _, err := d.answer(ctx, r.answer(sdk.Seen, at.user)); err != nil {
			d.c.log.Debug("noting that a request was opened", "err", err)
		}
	}
}

// submit takes a dialog, and returns what it is to show; nil closes it.
func (d *desk) submit(ctx context.Context, cb slack.InteractionCallback) *slack.ViewSubmissionResponse {
	if cb.View.CallbackID != dialogID {
		return nil
	}
	var form dialog
	if err := json.Unmarshal([]byte(cb.View.PrivateMetadata), &form, json.RejectUnknownMembers(true)); err != nil {
		d.c.log.Warn("a dialog has no request", "user", cb.User.ID)
		return nil
	}
	at := place{user: cb.User.ID, thread: form.Thread}
	if why := d.deaf(at.user, form.Ref.ID); why != "" {
		d.c.log.Warn("somebody who may not answer sent a dialog", "user", at.user)
		return wrong(forms[form.Decision].field, why)
	}
	a, field, why := form.read(cb.View.State, at.user)
	if why != "" {
		return wrong(field, why)
	}
	said := make(chan string)
	over := make(chan struct{})
	d.do(ctx, func() {
		refused := d.give(ctx, a, at)
		select {
		case said <- refused:
		case <-over:
			if refused != "" {
				d.tell(ctx, at, refused) // the dialog is closed by now
			}
		}
	})
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case refused := <-said:
		if refused != "" {
			return wrong(field, refused)
		}
	case <-t.C:
		close(over)
	case <-ctx.Done():
		close(over)
	}
	return nil
}

// wrong keeps a dialog open and says at a field what is wrong.
func wrong(field, why string) *slack.ViewSubmissionResponse {
	if field == "" {
		return nil
	}
	return slack.NewErrorsViewSubmissionResponse(map[string]string{field: clip(inert(why), maxConfirm)})
}

// give hands an answer over, and returns why it does not count, in words for
// the person, or nothing where it does.
func (d *desk) give(ctx context.Context, a sdk.Answer, at place) string {
	status, err := d.answer(ctx, a)
	if refused, ok := errors.AsType[*sdk.Refused](err); ok {
		return "This does not count: " + refused.Reason
	}
	if err != nil {
		d.c.log.Warn("an answer could not be given", "approval", a.ID, "err", err)
		return "Holdgate cannot take answers just now: try again."
	}
	if status == sdk.StatusPending && (a.Decision == sdk.Approve || a.Decision == sdk.Choose || a.Decision == sdk.Edit) {
		d.tell(ctx, at, "Your answer counts; it takes more people.")
	}
	return ""
}

// tell tells one person something that nobody else sees.
func (d *desk) tell(ctx context.Context, at place, text string) {
	if !userID.MatchString(at.user) {
		return
	}
	body := content{text: text, blocks: []slack.Block{slack.NewSectionBlock(plain(text, maxBlock), nil, nil)}}
	options := body.options()
	if at.thread != "" {
		options = append(options, slack.MsgOptionTS(at.thread))
	}
	ctx, cancel := context.WithTimeout(ctx, 2*perTry)
	defer cancel()
	if err := d.c.call(ctx, "chat.postEphemeral", func(ctx context.Context) error {
		_, err := d.c.api.PostEphemeralContext(ctx, d.c.conf.Channel, at.user, options...)
		return err
	}); err != nil {
		d.c.log.Warn("somebody could not be told what became of their answer", "user", at.user, "err", err)
	}
}

// What is remembered of payloads: longer than a signature passes.
const (
	remembered = 15 * time.Minute
	maxSeen    = 10_000
)

// A memory knows what came lately.
type memory struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]time.Time // until when
}

// fresh notes a payload, and reports whether it is a new one. Where too many
// came none is.
func (m *memory) fresh(payload []byte, now time.Time) bool {
	name := sha256.Sum256(payload)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil {
		m.seen = make(map[[sha256.Size]byte]time.Time)
	}
	if until, again := m.seen[name]; again && now.Before(until) {
		return false
	}
	if len(m.seen) >= maxSeen {
		for n, until := range m.seen {
			if !now.Before(until) {
				delete(m.seen, n)
			}
		}
	}
	if len(m.seen) >= maxSeen {
		return false
	}
	m.seen[name] = now.Add(remembered)
	return true
}
