package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// An inbox is what waits.
type inbox struct {
	list    []approvals.Request
	more    bool // not all that waits is in the list
	you     string
	off     int // requests that the person has put off
	loading bool
	filter  string
	items   []item // what is shown of the list
	at      string // the key of the item that is chosen
	open    map[string]bool
	since   time.Time       // the chosen item has been the same since
	ended   map[string]bool // requests that are known to have: an event may tell of them as they were
}

// An item is a line of the inbox: a request, a row of requests that are alike, or
// one of such a row.
type item struct {
	approvals.Request

	key    string
	alike  int // requests in the row; 0: the item is one request
	member bool
}

// replace replaces all that waits.
func (b *inbox) replace(msg listMsg, now time.Time) {
	b.list, b.more, b.you, b.loading, b.ended = msg.list, msg.more, msg.you, false, nil
	b.arrange(now)
}

// update takes a request as it is now.
func (b *inbox) update(r approvals.Request, now time.Time) {
	if r.Status.Final() {
		if b.ended == nil {
			b.ended = map[string]bool{}
		}
		b.ended[r.ID] = true
	}
	i := indexOf(b.list, r.ID)
	switch {
	case r.Status.Final() && i >= 0:
		b.list = slices.Delete(b.list, i, i+1)
	case r.Status.Final(), b.ended[r.ID]:
		return
	case i >= 0:
		b.list[i] = r
	case len(b.list) >= maxInbox:
		b.more = true
		return
	default:
		b.list = append(b.list, r)
	}
	b.arrange(now)
}

// arrange groups and sorts what is shown. What was chosen stays chosen, wherever
// it stands now; where it has gone, its neighbour takes no answer at once.
func (b *inbox) arrange(now time.Time) {
	var rows [][]approvals.Request
	b.off = 0
	for _, r := range b.list {
		if r.PutOff(b.you, now) {
			b.off++
			continue
		}
		if !r.Mentions(b.filter) {
			continue
		}
		if i := slices.IndexFunc(rows, func(row []approvals.Request) bool { return r.Alike(row[0]) }); i >= 0 {
			rows[i] = append(rows[i], r)
		} else {
			rows = append(rows, []approvals.Request{r})
		}
	}
	for _, row := range rows {
		slices.SortStableFunc(row, record.ByUrgency)
	}
	slices.SortStableFunc(rows, func(x, y []approvals.Request) int { return record.ByUrgency(x[0], y[0]) })
	before := b.index()
	b.items = nil
	for _, row := range rows {
		if len(row) == 1 {
			b.items = append(b.items, item{Request: row[0], key: row[0].ID})
			continue
		}
		key := rowKey(row[0])
		b.items = append(b.items, item{Request: row[0], key: key, alike: len(row)})
		if b.open[key] {
			for _, r := range row {
				b.items = append(b.items, item{Request: r, key: r.ID, member: true})
			}
		}
	}
	if b.chosen() == nil {
		if before >= 0 {
			b.since = now
		}
		if b.at = ""; len(b.items) > 0 {
			b.at = b.items[min(max(before, 0), len(b.items)-1)].key
		}
	}
}

// rowKey names a row of requests that are alike.
func rowKey(r approvals.Request) string {
	return strings.Join([]string{"row", fmt.Sprint(r.RunEnded != nil), r.Agent.ID, fmt.Sprint(r.Agent.Proven), r.Agent.Confinement, r.Session.ID, r.Rule, r.Gate, string(r.Risk), r.Shape}, "\x00")
}

// index is where the chosen item stands, -1 where none is chosen.
func (b *inbox) index() int {
	return slices.IndexFunc(b.items, func(i item) bool { return i.key == b.at })
}

// chosen is the item that is chosen, nil where none is.
func (b *inbox) chosen() *item {
	if i := b.index(); i >= 0 {
		return &b.items[i]
	}
	return nil
}

func (b *inbox) move(by int) {
	if len(b.items) > 0 {
		b.at = b.items[min(max(b.index()+by, 0), len(b.items)-1)].key
	}
}

// title is that of the terminal's window.
func (b *inbox) title() string {
	if len(b.list) == b.off {
		return "Waiting - Holdgate"
	}
	return fmt.Sprintf("(%d) Waiting - Holdgate", len(b.list)-b.off)
}

// inboxKey takes a key that is for the inbox.
func (m *model) inboxKey(k string) tea.Cmd {
	b := &m.inbox
	m.note = ""
	switch k {
	case "q":
		return tea.Quit
	case "j", "down":
		b.move(1)
	case "k", "up":
		b.move(-1)
	case "space", "pgdown":
		b.move(max(m.bodyHeight()/2, 1))
	case "b", "pgup":
		b.move(-max(m.bodyHeight()/2, 1))
	case "/":
		m.prompt = &prompt{label: "show only what has: ", kind: promptFilter, textInput: of(b.filter)}
	case "esc":
		b.filter = ""
		b.arrange(m.now())
	case "enter":
		i := b.chosen()
		switch {
		case i == nil || m.now().Sub(b.since) < minShown:
		case i.alike > 0:
			if b.open == nil {
				b.open = map[string]bool{}
			}
			b.open[i.key] = !b.open[i.key]
			b.arrange(m.now())
		default:
			return m.openRequest(i.Request)
		}
	}
	return nil
}

// head says how much waits.
func (b *inbox) head() string {
	switch {
	case b.loading:
		return "..."
	case len(b.list) == 0:
		return "Nothing waits"
	}
	s := fmt.Sprintf("%d waiting", len(b.list)-b.off)
	if b.more {
		s += ", the oldest of more"
	}
	if b.off > 0 {
		s += fmt.Sprintf(", %d put off by you", b.off)
	}
	if b.filter != "" {
		n := 0
		for _, i := range b.items {
			if !i.member {
				n += max(i.alike, 1)
			}
		}
		s += fmt.Sprintf(", %d shown: %s", n, holdgate.Visible(b.filter))
	}
	return s
}

// lines are what the inbox shows, and which of them is the chosen one's first.
func (m *model) inboxLines() (lines []string, at int) {
	if len(m.inbox.items) == 0 {
		if m.inbox.loading || m.inbox.filter != "" || m.inbox.off > 0 {
			return nil, 0
		}
		return m.paragraph("What an agent wants to do, and policy holds, comes up here by itself."), 0
	}
	left := false
	for _, i := range m.inbox.items {
		if i.RunEnded != nil && !left {
			left = true
			lines = append(lines, m.clip("Nobody waits for these any more; an approval counts if the agent asks again", sgrFaint))
		}
		if i.key == m.inbox.at {
			at = len(lines)
		}
		lines = append(lines, m.itemLines(i)...)
	}
	return lines, at
}

// itemLines are the lines of one item: what happens and how long there is, then who
// wants it, where, and whether it can be undone.
func (m *model) itemLines(i item) []string {
	mark := "  "
	if i.key == m.inbox.at {
		mark = "> "
	}
	now := m.now()
	if i.member {
		return []string{m.spread(mark+below[len(mark):], style{text: i.Briefing.Summary}, style{text: left(i.ExpiresAt.Sub(now))})}
	}
	sum := i.Briefing.Summary
	if i.alike > 0 {
		sum = fmt.Sprintf("%d alike: %s", i.alike, sum)
	}
	risk, end := style{text: fmt.Sprintf("%-9s", known(string(i.Risk))), sgr: riskSGR(i.Risk)}, m.timeLeft(i.Request)
	parts := page.Wrap([]page.Line{{Text: sum}}, m.width-len(below)-page.Cells(end.text)-2)
	lines := []string{m.spread(mark+m.paint(risk), style{text: parts[0].Text, sgr: sgrStrong}, end)}
	if len(parts) > 1 {
		lines = append(lines, m.spread(below, style{text: strings.TrimLeft(sum[len(parts[0].Text):], " "), sgr: sgrStrong}, style{}))
	}
	return append(lines, m.clip(below+about(i.Request, now), sgrFaint))
}

// below stands before the lines of an item that go on.
const below = "           "

// later has what was put off come back when its time has passed.
func (b *inbox) later(now time.Time) {
	if b.off > 0 {
		b.arrange(now)
	}
}

// timeLeft says how long a request waits, and what silence does then.
func (m *model) timeLeft(r approvals.Request) style {
	d := r.ExpiresAt.Sub(m.now())
	s := style{text: left(d)}
	if r.OnTimeout == holdgate.TimeoutApprove.String() {
		return style{text: "APPROVED by itself in " + s.text, sgr: sgrAlarm}
	}
	if d < time.Minute {
		s.sgr = sgrAlarm
	}
	return s
}

// about says in one line what else matters of a request.
func about(r approvals.Request, now time.Time) string {
	who := holdgate.Visible(r.Agent.ID)
	if !r.Agent.Proven {
		who += " (its own word)"
	}
	if r.Agent.Confinement == "unconfined" {
		who += " UNCONFINED"
	}
	parts := []string{who}
	if r.Briefing.Undo != "" {
		undo, _, _ := strings.Cut(r.Briefing.Undo, ":") // why is on the page
		parts = append(parts, undo)
	}
	if r.Claim != nil {
		parts = append(parts, holdgate.Visible(r.Claim.By)+" is looking")
	}
	parts = append(parts, "asked "+ago(now.Sub(r.CreatedAt)))
	if r.RunEnded != nil {
		parts = append(parts, "its run ended at "+r.RunEnded.Local().Format("15:04"))
	}
	if f := r.Briefing.Place.Folder; f != "" {
		parts = append(parts, f)
	}
	return strings.Join(parts, " · ")
}
