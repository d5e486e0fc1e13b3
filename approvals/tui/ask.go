package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/draft"
	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// An ask is a request that is open.
type ask struct {
	pager

	r       approvals.Request
	full    bool         // the call is whole, and its arguments stand below the page
	folded  bool         // a part of it is not, and nothing is approved
	sending bool         // an answer is on its way
	left    draft.Change // what the person's editor has left last and was not sent
}

// An openedMsg is a request as it is now.
type openedMsg struct {
	id  string
	r   approvals.Request
	err error
}

// openRequest shows a request.
func (m *model) openRequest(r approvals.Request) tea.Cmd {
	m.ask = &ask{r: r}
	m.layOut()
	return m.refresh()
}

// refresh asks how the open request is now. A screen that shows one counts as having
// told a person, but not one that has folded it.
func (m *model) refresh() tea.Cmd {
	if m.ask == nil || m.api == nil {
		return nil
	}
	api, ctx, id, pending := m.api, m.ctx, m.ask.r.ID, !m.ask.r.Status.Final() && !m.ask.folded
	return func() tea.Msg {
		if pending {
			if r, err := api.Shown(ctx, id); err == nil {
				return openedMsg{id, r, nil}
			}
		}
		r, err := api.Request(ctx, id) // to look, nobody needs a right to answer
		return openedMsg{id, r, err}
	}
}

// keepShown says again that the open request is on the screen, where silence
// approves it: silence counts only while people could have spoken.
func (m *model) keepShown() tea.Cmd {
	if m.ask == nil || m.ask.sending || m.ask.r.Status.Final() || m.ask.r.Claim != nil || m.ask.r.OnTimeout != holdgate.TimeoutApprove.String() {
		return nil
	}
	return m.refresh()
}

// opened takes the open request as it is now.
func (m *model) opened(msg openedMsg) {
	switch {
	case m.ask == nil || m.ask.r.ID != msg.id || m.ask.sending:
	case msg.err != nil:
		m.note = "not looked at anew: " + holdgate.Visible(msg.err.Error())
	default:
		m.inbox.update(msg.r, m.now())
		m.renew(msg.r)
	}
}

// renew shows a request as it is now, from its top where it is not what was shown.
// What was being typed to approve it is dropped.
func (m *model) renew(r approvals.Request) {
	a := m.ask
	same := state(r) == state(a.r)
	a.r = r
	if same {
		return
	}
	edited := m.edit != nil
	m.always, m.edit = nil, nil
	m.layOut()
	if edited {
		m.note = "This request has changed: look at it again" + a.goOn()
	}
	if m.prompt != nil && m.prompt.kind != promptFilter {
		if m.prompt.releases() || r.Status.Final() {
			m.prompt = nil
		}
		m.note = "This request has changed: look at it again" + a.goOn()
	}
	m.lateEdit()
}

// state is what of a request makes another page, and another question, where it
// changes.
func state(r approvals.Request) string {
	by := ""
	if r.Claim != nil {
		by = r.Claim.By
	}
	return fmt.Sprint(r.Status, len(r.Votes), r.Call.Digest, r.Escalated, len(r.Delegations), by, r.NoApprover, r.OnTimeout)
}

// layOut shows the request from its top.
func (a *ask) layOut(width, room int, now time.Time) { a.begin(a.draw(width, now), room, now) }

// draw is the page as it is now.
func (a *ask) draw(width int, now time.Time) []page.Line {
	lines := page.Of(host.Notice(a.r), now)
	if a.folded = false; !a.full {
		lines, a.folded = page.Fold(page.Wrap(lines, width-1), "f", page.FoldOver, page.FoldTo)
	} else {
		lines = append(lines, page.Line{}, page.Line{Label: "  ", Text: "the arguments, whole", Style: page.Faint})
		for _, l := range wholeArguments(a.r) {
			lines = append(lines, page.Line{Label: "  | ", Text: l})
		}
	}
	return page.Wrap(lines, width-1)
}

// countDown draws the page again. Only what counts down changes by itself: where that
// makes another number of lines, the page is shown from its top.
func (m *model) countDown() {
	if m.ask == nil {
		return
	}
	drawn := m.ask.draw(m.width, m.now())
	if len(drawn) != len(m.ask.lines) {
		m.layOut()
		return
	}
	m.ask.lines, m.ask.need = drawn, page.Needed(drawn)
}

// word is what must be typed in full to approve; empty where a key will do.
func (a *ask) word() string { return host.Word(a.r) }

// closed says why the request is not approved on this screen, or nothing.
func (a *ask) closed() string {
	switch {
	case a.r.NoApprover != "":
		return holdgate.Visible(a.r.NoApprover)
	case !a.r.Briefing.Whole && a.r.Call.Tool == nil:
		return "the call cannot be shown whole; who knows what it carries can let it go on by: holdgate approve " + a.r.ID
	case !a.r.Briefing.Whole && !a.full:
		return "this screen does not show the whole call; f shows it"
	case a.folded:
		return "not all of the call was shown yet; f shows all of it"
	case !a.whole():
		return "not all of the call was shown yet; space shows the rest"
	}
	return ""
}

// wholeArguments are the call's arguments, nothing cut, one line each.
func wholeArguments(r approvals.Request) []string {
	t := r.Call.Tool
	if t == nil {
		return nil
	}
	text := t.ArgumentsRaw
	if t.Arguments != nil {
		v := jsontext.Value(t.Arguments).Clone()
		if err := v.Indent(jsontext.WithIndent("  ")); err == nil {
			text = string(v)
		}
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = holdgate.Visible(l)
	}
	return lines
}

// askKey takes a key that is for the open request.
func (m *model) askKey(k string) tea.Cmd {
	a, now, covered := m.ask, m.now(), m.covered()
	m.note = ""
	if a.scrollKey(k, now) {
		return nil
	}
	switch k {
	case "esc", "q":
		m.ask = nil
		return nil
	case "f":
		a.full = !a.full && (a.folded || a.r.Call.Tool != nil)
		m.layOut()
		return nil
	}
	if a.r.Status.Final() || a.sending || now.Sub(a.since) < minShown || covered && (k == "y" || k == "a") {
		return nil
	}
	return m.answerKey(k)
}

// askHead says where the person is, and what else waits.
func (m *model) askHead() string {
	s := "Waiting > request"
	others := len(m.inbox.list)
	if indexOf(m.inbox.list, m.ask.r.ID) >= 0 {
		others--
	}
	if others > 0 {
		s += " (" + page.MoreWait(others) + ")"
	}
	if c := m.ask.r.Claim; c != nil {
		s += ", " + holdgate.Visible(c.By) + " is looking at it"
	}
	return s
}

// askKeys says what the keys do. Those that let the call go on are not named
// where they do nothing.
func (m *model) askKeys() string {
	a := m.ask
	var keys []string
	switch {
	case a.r.Status.Final():
	case a.sending:
		return "..."
	case m.now().Sub(a.since) < minShown:
		return "a moment ..."
	case a.closed() != "":
	case a.r.Kind == holdgate.RequestChoice:
		keys = append(keys, fmt.Sprintf("1-%d choose", min(len(a.r.Options), 9)))
	default:
		keys = append(keys, "y approve")
	}
	if !a.r.Status.Final() {
		keys = append(keys, "n deny")
		if a.allows("steer") {
			keys = append(keys, "s steer")
		}
		if draft.Editable(a.r) == "" && a.closed() == "" {
			keys = append(keys, "e edit")
		}
		if a.allows("remember") && a.closed() == "" && a.r.Kind != holdgate.RequestChoice {
			keys = append(keys, "A always")
		}
		if a.folded || !a.r.Briefing.Whole && !a.full && a.r.Call.Tool != nil {
			keys = append(keys, "f whole call")
		}
	}
	then := ""
	if !a.r.Status.Final() && (a.r.Briefing.Whole || a.full) && !a.folded && a.r.NoApprover == "" {
		then = "y approves"
	}
	if on := a.position(then, "what was before, names"); on != "" {
		keys = append(keys, strings.TrimSpace(on))
	}
	return strings.Join(append(keys, "q back", "? keys"), "  ")
}
