package tui

import (
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/draft"
)

// An editing is other arguments for the open request, as they would be sent.
type editing struct {
	pager
	draft.Change
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
	if why == "" {
		why = a.closed()
	}
	if why != "" {
		m.note = "not edited: " + why
		return nil
	}
	r := a.r
	done := editedMsg{id: r.ID, digest: r.Call.Digest}
	file, err := draft.Open(r)
	if err != nil {
		done.err = err
		return func() tea.Msg { return done }
	}
	client, ctx := m.api, m.ctx
	return m.runs(file.Command(m.ctx, m.editor), func(err error) tea.Msg {
		if done.err = err; err == nil {
			done.change, done.err = file.Read()
		}
		done.err = errors.Join(done.err, file.Remove())
		if done.err == nil && client != nil {
			done.change.Lines = append(done.change.Lines, draft.Verdict(ctx, client, r, done.change.Arguments)...)
		}
		return done
	})
}

// edited shows what the person has changed, where that can be sent.
func (m *model) edited(msg editedMsg) {
	a := m.ask
	if a == nil || a.r.ID != msg.id {
		return
	}
	a.since = m.now() // the screen comes back
	switch {
	case errors.Is(msg.err, draft.ErrSame):
		m.note = draft.ErrSame.Error()
	case msg.err != nil:
		m.note = "not edited: " + holdgate.Visible(msg.err.Error())
	case a.r.Call.Digest != msg.digest || a.r.Status.Final():
		m.note = "not edited: this request has changed meanwhile"
	default:
		m.edit = &editing{Change: msg.change}
		m.layOut()
	}
}

// editKey takes a key while it is shown what was changed.
func (m *model) editKey(k string) tea.Cmd {
	e, a := m.edit, m.ask
	m.note = ""
	switch {
	case k == "esc", k == "q":
		m.edit, a.since = nil, m.now()
	case e.scrollKey(k, m.now()):
	case k != "y" && k != "a", a.r.Status.Final(), a.sending, m.now().Sub(e.since) < minShown:
	case !e.whole():
		m.note = "not sent: not all of the change was shown yet; space shows the rest"
	case a.word() != "":
		m.prompt = &prompt{label: fmt.Sprintf("to let it go on like this, type %s: ", quoted(a.word())), kind: promptApprove, word: a.word(), arguments: e.Arguments}
	default:
		return m.send(api.Decision{Decision: holdgate.AnswerEdit, Arguments: []byte(e.Arguments)})
	}
	return nil
}

func (m *model) editKeys() string {
	if m.now().Sub(m.edit.since) < minShown {
		return "a moment ..."
	}
	return "y let it go on like this" + m.edit.position("y sends it", "") + "  Esc goes back"
}
