package tui

import (
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/draft"
)

// An editing is other arguments for the open request, as they would be sent; or, where it
// is late, as they can no longer be.
type editing struct {
	pager
	draft.Change

	late bool
}

// An editedMsg is what the person's editor has left, and what policy makes of it.
type editedMsg struct {
	id     string
	digest holdgate.Digest
	change draft.Change
	err    error
}

// openEditor opens the person's editor on the arguments of the open request.
func (m *model) openEditor() tea.Cmd {
	a := m.ask
	why := draft.Editable(a.r)
	if why == "" && m.edit == nil { // else all of it was shown before
		why = a.closed()
	}
	if why != "" {
		m.note = "not edited: " + why
		return nil
	}
	r := a.r
	done := editedMsg{id: r.ID, digest: r.Call.Digest}
	file, err := draft.Open(r, a.left.Text)
	if err != nil {
		done.err = err
		return func() tea.Msg { return done }
	}
	client, ctx := m.api, m.ctx
	return m.runs(file.Command(m.ctx, m.editor), func(err error) tea.Msg {
		done.change, done.err = file.Read()
		if err != nil {
			done.change, done.err = draft.Change{Text: done.change.Text}, err
		}
		done.err = errors.Join(done.err, file.Remove())
		if done.err == nil && client != nil {
			done.change.Judge(ctx, client, r)
		}
		return done
	})
}

// edited shows what the person has changed, where that can be sent. What they typed stays
// theirs: they edit on, or see it where it came too late.
func (m *model) edited(msg editedMsg) {
	a := m.ask
	if a == nil || a.r.ID != msg.id {
		return
	}
	a.since = m.now() // the screen comes back
	if msg.change.Text != nil {
		a.left = msg.change
	}
	switch {
	case errors.Is(msg.err, draft.ErrSame):
		m.edit = nil
		a.left, m.note = draft.Change{}, draft.ErrSame.Error()
	case a.r.Status.Final():
		m.lateEdit()
	case msg.err != nil && m.edit != nil:
		m.note = "your last text is not used" + a.goOn() + ": " + why(msg.err)
	case msg.err != nil:
		m.note = "not edited" + a.goOn() + ": " + why(msg.err)
	case a.r.Call.Digest != msg.digest:
		m.edit = nil
		m.note = "not edited: this request has changed meanwhile" + a.goOn()
	default:
		m.edit = &editing{Change: msg.change}
		m.layOut()
	}
}

// why says why an edit is not used, in few words.
func why(err error) string {
	if u, ok := errors.AsType[*draft.UnusableError](err); ok {
		return holdgate.Visible(u.Why)
	}
	return holdgate.Visible(err.Error())
}

// goOn says how the person gets at what they typed, where that was not sent.
func (a *ask) goOn() string {
	if a.left.Text == nil || a.r.Status.Final() {
		return ""
	}
	return "; e opens your text again" // the line is cut behind it
}

// lateEdit shows what the person typed for a request that has ended, if they have.
func (m *model) lateEdit() {
	a := m.ask
	if a == nil || a.left.Text == nil || !a.r.Status.Final() {
		return
	}
	m.edit = &editing{Change: draft.Change{Lines: a.left.Shown()}, late: true}
	a.left = draft.Change{}
	m.layOut()
	m.note = fmt.Sprintf("your edit was not sent: this request is %s already", a.r.Status)
	if o := a.r.Outcome; o != nil && o.By != "" {
		m.note += ", by " + holdgate.Visible(o.By)
	}
}

// editKey takes a key while it is shown what was changed.
func (m *model) editKey(k string) tea.Cmd {
	e, a, covered := m.edit, m.ask, m.covered()
	m.note = ""
	switch {
	case k == "esc", k == "q":
		m.edit, a.left, a.since = nil, draft.Change{}, m.now()
	case k == "e" && !e.late && !a.sending && m.now().Sub(e.since) >= minShown:
		return m.openEditor()
	case e.scrollKey(k, m.now()):
	case k != "y" && k != "a", a.r.Status.Final(), a.sending, covered, m.now().Sub(e.since) < minShown:
	case !e.whole():
		m.note = "not sent: not all of the change was shown yet; space shows the rest"
	case e.Word != "":
		m.prompt = &prompt{label: fmt.Sprintf("to let it go on like this, type %s: ", quoted(e.Word)), kind: promptApprove, word: e.Word, arguments: e.Arguments}
	default:
		return m.send(api.Decision{Decision: holdgate.AnswerEdit, Arguments: []byte(e.Arguments)})
	}
	return nil
}

func (m *model) editKeys() string {
	switch {
	case m.edit.late:
		return strings.TrimSpace(m.edit.position("", "") + "  Esc goes back")
	case m.now().Sub(m.edit.since) < minShown:
		return "a moment ..."
	}
	return "y let it go on like this" + m.edit.position("y sends it", "") + "  e edit on  Esc goes back"
}
