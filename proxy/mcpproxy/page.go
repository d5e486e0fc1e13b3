package mcpproxy

import (
	"bytes"
	"crypto/rand"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Where the configuration names a page on which people decide, a client whose user
// can open pages is asked to show it. The page is a link and nothing more: it has
// no credential in it, and what the client says to it is not looked at, for the
// client is on the side of who is to be approved.

// A shownPage is a page that a client was asked to show, once for each request.
type shownPage struct{ session, request string }

// maxPages is how many are remembered.
const maxPages = 4096

// pages are those that clients were asked to show.
type pages struct {
	shown *lru.Cache[shownPage, string]   // the ids under which they were
	asked *lru.Cache[waitKey, struct{}]   // what clients will answer to that
	opens *lru.Cache[clientKey, struct{}] // clients whose users can open pages
}

func newPages() pages {
	return pages{remembering[shownPage, string](maxPages), remembering[waitKey, struct{}](maxPages), remembering[clientKey, struct{}](maxClients)}
}

// pageFor is the page for a request; empty where there is none.
func (p *Proxy) pageFor(request string) string {
	if p.c.Options.Page == nil {
		return ""
	}
	return p.c.Options.Page(request)
}

// hasPage reports whether people decide on a page.
func (p *Proxy) hasPage() bool { return p.pageFor("") != "" }

// pages are the questions whose pages this client has not been asked to show.
func (m *exchange) pages(qs []*gate.Evaluation) (fresh []*gate.Evaluation) {
	if !m.p.hasPage() || !m.Target.Pages || m.posted != nil || m.task != nil {
		return nil
	}
	for _, q := range qs {
		if q.Undecided() && !m.p.pages.shown.Contains(m.pageKey(q)) {
			fresh = append(fresh, q)
		}
	}
	return fresh
}

func (m *exchange) pageKey(q *gate.Evaluation) shownPage {
	return shownPage{string(m.taskOwner()), q.Request().ID}
}

func pageText(q *gate.Evaluation) string {
	return wire.Mark + gate.NameCall(q.Call) + " waits for " + whoIsAsked(q.Request()) + " to decide request " + q.Request().ID + ", which can be done here. Nothing is decided by opening the page or by what you answer here."
}

// showPages asks a client that waits on an event stream to show the pages of what
// it waits for.
func (m *exchange) showPages(qs []*gate.Evaluation) {
	if m.out == nil || m.revision26() {
		return
	}
	for _, q := range m.pages(qs) {
		id := "holdgate-" + rand.Text()
		m.p.pages.shown.Add(m.pageKey(q), id)
		m.p.pages.asked.Add(m.waitKey([]byte(`"`+id+`"`)), struct{}{})
		m.shown = append(m.shown, id)
		m.out.Render(func() []byte { return mcp.Event(mcp.ShowPage(id, pageText(q), m.p.pageFor(q.Request().ID))) })
	}
}

// endPages says of the pages that nothing more is to be done there.
func (m *exchange) endPages() {
	for _, id := range m.shown {
		m.out.Render(func() []byte { return mcp.Event(mcp.PageDone(id)) })
	}
	m.shown = nil
}

// aboutPage takes what a client says to a page that it was to show. It is neither
// looked at nor sent on.
func (m *exchange) aboutPage() bool {
	return !m.batch && m.msgs[0].IsResponse() && m.p.pages.asked.Remove(m.waitKey(m.msgs[0].ID))
}

// pageFirst answers a held call of revision 2026-07-28 by the page of what it waits
// for: the client shows it, makes the call again, and then waits. It reports
// whether the client has been answered.
func (m *exchange) pageFirst(qs []*gate.Evaluation) bool {
	if m.batch || !m.revision26() || m.msgs[0].Method != "tools/call" || m.msgs[0].Continues() {
		return false
	}
	fresh := m.pages(qs)
	if len(fresh) != 1 {
		return false
	}
	m.p.pages.shown.Add(m.pageKey(fresh[0]), "")
	_ = m.reply([][]byte{m.msgs[0].PageFirst(pageText(fresh[0]), m.p.pageFor(fresh[0].Request().ID))}) // a client that has gone makes the call again, and waits
	return true
}

// withoutPage takes out of the body what the client says to a page.
func (m *exchange) withoutPage() {
	if m.batch || !m.p.hasPage() {
		return
	}
	if body, ok := mcp.WithoutPage(bytes.Trim(m.Body, " \t\r\n")); ok {
		m.Body = body
	}
}
