package tui

import (
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/draft"
)

// allows reports whether policy lets the request be answered so.
func (a *ask) allows(way string) bool { return slices.Contains(a.r.Allow, way) }

// answerKey takes a key that answers the open request.
func (m *model) answerKey(k string) tea.Cmd {
	a := m.ask
	switch k {
	case "y", "a":
		return m.approve()
	case "n", "d":
		m.prompt = &prompt{label: "deny: why (Enter for no reason): ", kind: promptDeny}
	case "s":
		if !a.allows("steer") {
			m.note = "this call can be approved or denied, not steered"
			return nil
		}
		m.prompt = &prompt{label: "steer: what to do instead", kind: promptSteer, textInput: textInput{lines: true}}
	case "e":
		return m.openEditor()
	case "A":
		m.openAlways()
	case "c":
		return m.claim()
	case "z":
		m.prompt = &prompt{label: "put off for (Enter for 10m, or next): ", kind: promptDefer}
	default:
		if len(k) == 1 && k[0] >= '1' && k[0] <= '9' {
			m.choose(int(k[0] - '1'))
		}
	}
	return nil
}

// approve approves the open request, or has the word typed that does.
func (m *model) approve() tea.Cmd {
	a := m.ask
	if a.r.Kind == holdgate.RequestChoice {
		m.note = "this call needs one of its options: press its number"
		return nil
	}
	if why := a.closed(); why != "" {
		m.note = "not approved: " + why
		return nil
	}
	if w := a.word(); w != "" {
		m.prompt = &prompt{label: fmt.Sprintf("to approve, type %s: ", quoted(w)), kind: promptApprove, word: w}
		return nil
	}
	return m.send(api.Decision{Decision: holdgate.AnswerApprove})
}

// choose has an option confirmed. One that lets the call go on is held to what
// approving is.
func (m *model) choose(i int) {
	a := m.ask
	if i >= len(a.r.Options) {
		return
	}
	o := a.r.Options[i]
	p := &prompt{label: fmt.Sprintf("choose %s: Enter, or Esc: ", holdgate.Visible(o.ID)), kind: promptChoose, option: o}
	if o.Other {
		p.label = holdgate.Visible(o.ID) + ": "
	}
	if p.releases() {
		if why := a.closed(); why != "" {
			m.note = "not chosen: " + why
			return
		}
		if p.word = a.word(); p.word != "" {
			p.label = fmt.Sprintf("to choose %s, type %s: ", holdgate.Visible(o.ID), quoted(p.word))
		}
	}
	m.prompt = p
}

// claim says that the person looks at the open request, or no longer does.
func (m *model) claim() tea.Cmd {
	client, ctx, r := m.api, m.ctx, m.ask.r
	fn := client.Claim
	if r.Claim != nil && r.Claim.By == m.inbox.you {
		fn = client.Unclaim
	}
	return func() tea.Msg {
		now, err := fn(ctx, r.ID)
		return openedMsg{r.ID, now, err}
	}
}

// defaultOff is how long a request is put off where nothing else is said.
const defaultOff = 10 * time.Minute

// putOff puts the open request off, and goes back to what else waits.
func (m *model) putOff(typed string) tea.Cmd {
	lasts, next := defaultOff, typed == "next"
	switch {
	case next:
		lasts = approvals.MaxDefer
	case typed != "":
		var err error
		if lasts, err = time.ParseDuration(typed); err != nil {
			m.note = "not put off: " + quoted(typed) + " is no length of time such as 10m or 2h, nor next"
			return nil
		}
	}
	client, ctx, id := m.api, m.ctx, m.ask.r.ID
	m.prompt = nil
	return func() tea.Msg {
		r, err := client.Defer(ctx, id, lasts, next)
		return deferredMsg{id, r, err}
	}
}

// A deferredMsg is what became of putting a request off.
type deferredMsg struct {
	id  string
	r   approvals.Request
	err error
}

// deferred takes what became of it.
func (m *model) deferred(msg deferredMsg) {
	if msg.err != nil {
		m.note = "not put off: " + holdgate.Visible(msg.err.Error())
		return
	}
	m.inbox.update(msg.r, m.now())
	if m.ask != nil && m.ask.r.ID == msg.id {
		m.ask = nil
	}
	m.note = "put off: " + msg.r.Briefing.Summary
}

// A decidedMsg is what became of an answer.
type decidedMsg struct {
	id  string
	r   approvals.Request
	err error
}

// send sends an answer, bound to the page that is shown.
func (m *model) send(d api.Decision) tea.Cmd {
	a := m.ask
	d.Digest = a.r.Call.Digest
	a.sending, m.prompt, m.always, m.edit, m.note = true, nil, nil, nil, ""
	client, ctx, id := m.api, m.ctx, a.r.ID
	return func() tea.Msg {
		r, err := client.Decide(ctx, id, d)
		return decidedMsg{id, r, err}
	}
}

// decided takes what became of an answer.
func (m *model) decided(msg decidedMsg) {
	if msg.err == nil {
		m.inbox.update(msg.r, m.now())
	}
	if m.ask == nil || m.ask.r.ID != msg.id {
		m.note = became(msg)
		return
	}
	m.ask.sending = false
	if msg.err == nil && msg.r.Status.Final() {
		m.ask = nil
	} else {
		if p, ok := errors.AsType[*api.Problem](msg.err); ok && p.Request != nil {
			msg.r = *p.Request
		}
		if msg.r.ID != "" {
			m.renew(msg.r)
		}
		m.ask.since = m.now()
	}
	m.note = became(msg)
	switch {
	case m.ask == nil:
	case msg.err == nil:
		m.ask.left = draft.Change{}
	default:
		m.note = "nothing was decided" + m.ask.goOn() + ": " + holdgate.Visible(msg.err.Error())
		m.lateEdit()
	}
}

// became says what became of an answer.
func became(msg decidedMsg) string {
	switch {
	case msg.err != nil:
		return "nothing was decided: " + holdgate.Visible(msg.err.Error())
	case msg.r.Status.Final():
		return fmt.Sprintf("%s: %s", msg.r.Status, msg.r.Briefing.Summary)
	}
	return "your answer counts; others have to answer too"
}

// quoted is what a person is to type, or has typed.
func quoted(s string) string { return `"` + holdgate.Visible(s) + `"` }
