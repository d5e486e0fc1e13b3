package tui

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// minShown is how long what an answer would decide must have stood unchanged.
const minShown = 700 * time.Millisecond

// The smallest terminal on which something is decided.
const (
	minWidth  = 40
	minHeight = 12
)

// A model is what the screen shows.
type model struct {
	ctx    context.Context //nolint:containedctx // of the program, for its commands
	api    *client.Client
	now    func() time.Time
	colour bool

	width, height int
	inbox         inbox
	ask           *ask     // the request that is open; nil: none
	always        *always  // a standing approval that is being made of it; nil: none
	edit          *editing // other arguments for it; nil: none
	prompt        *prompt  // what is being typed; nil: nothing
	place         place
	agents        agentList
	history       history
	help          bool
	note          string // about the last answer; safe to show
	lost          string // why the sidecar is not reached; safe to show
	beat          time.Time
	rang          time.Time
	editor        string // the person's, as a command line
	runs          func(*exec.Cmd, tea.ExecCallback) tea.Cmd
	silent        bool // nothing rings
	after         func(time.Duration, tea.Msg) tea.Cmd
}

func newModel(ctx context.Context, api *client.Client, now func() time.Time, colour bool) *model {
	after := func(d time.Duration, msg tea.Msg) tea.Cmd { return tea.Tick(d, func(time.Time) tea.Msg { return msg }) }
	return &model{ctx: ctx, api: api, now: now, colour: colour, width: 80, height: 24, beat: now(), after: after, editor: "vi", runs: tea.ExecProcess, inbox: inbox{loading: true}}
}

// place is what the screen is about where no request is open.
type place int

const (
	placeInbox place = iota
	placeAgents
	placeHistory
	places // how many there are
)

// visit shows another place.
func (m *model) visit(p place) tea.Cmd {
	m.note = ""
	switch p {
	case placeAgents:
		return m.openAgents()
	case placeHistory:
		return m.openHistory("")
	case placeInbox, places:
	}
	m.place = placeInbox
	return nil
}

// A beatMsg comes each second, for what counts down.
type beatMsg struct{}

const (
	beatEvery = time.Second
	// slept is how long no beat must have come for what was typed to be older
	// than what is shown: the program was stopped meanwhile.
	slept = 3 * beatEvery
)

// An armedMsg comes when answers may be taken again.
type armedMsg struct{}

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd { return m.after(beatEvery, beatMsg{}) }

// Update implements [tea.Model].
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	before := m.stands()
	cmd := m.update(msg)
	if since := m.stands(); since != before {
		return m, tea.Batch(cmd, m.after(minShown, armedMsg{}))
	}
	return m, cmd
}

// stands is since when the open request has stood unchanged.
func (m *model) stands() time.Time {
	switch {
	case m.edit != nil:
		return m.edit.since
	case m.ask != nil:
		return m.ask.since
	}
	return time.Time{}
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	if now := m.now(); now.Sub(m.beat) > slept {
		m.disturb(now)
		m.beat = now
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.layOut()
	case beatMsg:
		m.beat = m.now()
		m.countDown()
		m.inbox.later(m.beat)
		return tea.Batch(m.after(beatEvery, beatMsg{}), m.keepShown(), m.keepAgents())
	case listMsg:
		m.lost = ""
		m.inbox.replace(msg, m.now())
		return m.refresh()
	case eventMsg:
		return m.happened(msg.Event)
	case lostMsg:
		m.lost = holdgate.Visible(msg.err.Error())
	case openedMsg:
		m.opened(msg)
	case deferredMsg:
		m.deferred(msg)
	case editedMsg:
		m.edited(msg)
	case decidedMsg:
		m.decided(msg)
	case agentsMsg:
		m.readAgents(msg)
	case intervenedMsg:
		return m.intervened(msg)
	case historyMsg:
		m.readHistory(msg)
	case tea.PasteMsg:
		m.pasted(msg.Content)
	case tea.KeyPressMsg:
		return m.key(msg)
	}
	return nil
}

// ringEvery is the least time between two rings.
const ringEvery = 3 * time.Second

// ring rings the terminal's bell where something new waits, and asks for a note on
// the desktop where the terminal knows how (OSC 9). No word of an agent is in it.
func (m *model) ring(e approvals.Event) tea.Cmd {
	now := m.now()
	if m.silent || e.Type != record.EventRequested || e.Request.Status.Final() || now.Sub(m.rang) < ringEvery {
		return nil
	}
	m.rang = now
	return tea.Raw(fmt.Sprintf("\a\x1b]9;Holdgate: %d waiting\a", len(m.inbox.list)-m.inbox.off))
}

// disturb has every answer wait until the screen has stood again.
func (m *model) disturb(now time.Time) {
	m.inbox.since = now
	if m.ask != nil {
		m.ask.since = now
	}
	if m.edit != nil {
		m.edit.since = now
	}
}

// happened takes an event of the sidecar.
func (m *model) happened(e approvals.Event) tea.Cmd {
	if e.Request.ID == "" {
		return nil
	}
	m.inbox.update(e.Request, m.now())
	return tea.Batch(m.ring(e), m.changedElsewhere(e))
}

// changedElsewhere looks anew where an event is of the open request.
func (m *model) changedElsewhere(e approvals.Event) tea.Cmd {
	if m.ask != nil && m.ask.r.ID == e.Request.ID && !m.ask.sending {
		return m.refresh() // as it is now, not as it was then
	}
	return nil
}

// key takes a key that was pressed.
func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	k := msg.String()
	switch {
	case k == "ctrl+c":
		return tea.Quit
	case m.width < minWidth || m.height < minHeight:
		return nil
	case m.help:
		m.help = false
	case m.prompt != nil:
		return m.promptKey(k, msg.Key().Text)
	case k == "?":
		m.help = true
	case m.edit != nil:
		return m.editKey(k)
	case m.always != nil:
		return m.alwaysKey(k)
	case m.ask != nil:
		return m.askKey(k)
	default:
		return m.placeKey(k)
	}
	return nil
}

// placeKey takes a key where no request is open.
func (m *model) placeKey(k string) tea.Cmd {
	switch {
	case k == "tab":
		return m.visit((m.place + 1) % places)
	case k == "shift+tab":
		return m.visit((m.place + places - 1) % places)
	case m.place == placeInbox:
		return m.inboxKey(k)
	case k == "q", k == "esc":
		return m.visit(placeInbox)
	case m.place == placeAgents:
		return m.agentsKey(k)
	}
	return m.historyKey(k)
}

func (m *model) pasted(text string) {
	if m.prompt != nil {
		m.prompt.insert(text)
	}
}

// layOut fits what is open into the terminal.
func (m *model) layOut() {
	if m.ask != nil {
		m.ask.layOut(m.width, m.bodyHeight(), m.now())
		if m.edit != nil {
			m.edit.begin(page.Wrap(m.edit.Lines, m.width-1), m.bodyHeight(), m.now())
		}
	}
}

// bodyHeight is how many lines of a request are shown at once.
func (m *model) bodyHeight() int { return max(m.height-frameLines, 1) }

// View implements [tea.Model].
func (m *model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	v.WindowTitle = m.inbox.title()
	return v
}

// indexOf finds a request in a list.
func indexOf(list []approvals.Request, id string) int {
	return slices.IndexFunc(list, func(r approvals.Request) bool { return r.ID == id })
}
