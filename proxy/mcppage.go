package proxy

import (
	"bytes"
	"crypto/rand"
	"net/url"
	"strings"

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

// pageFor is the page for a request.
func (s *Server) pageFor(request string) string {
	return strings.ReplaceAll(s.c.Page, "{request}", url.PathEscape(request))
}

// pages are the questions whose pages this client has not been asked to show.
func (m *mcpExchange) pages(qs []*gate.Evaluation) (fresh []*gate.Evaluation) {
	if m.s.c.Page == "" || !m.t.Pages || m.posted != nil || m.task != nil {
		return nil
	}
	for _, q := range qs {
		if q.Open() && !m.s.pages.Contains(m.pageKey(q)) {
			fresh = append(fresh, q)
		}
	}
	return fresh
}

func (m *mcpExchange) pageKey(q *gate.Evaluation) shownPage {
	return shownPage{string(m.taskOwner()), q.Request().ID}
}

func pageText(q *gate.Evaluation) string {
	return wire.Mark + gate.NameCall(q.Call) + " waits for " + whoIsAsked(q.Request()) + " to decide request " + q.Request().ID + ", which can be done here. Nothing is decided by opening the page or by what you answer here."
}

// showPages asks a client that waits on an event stream to show the pages of what
// it waits for.
func (m *mcpExchange) showPages(qs []*gate.Evaluation) {
	if m.out == nil || m.revision26() {
		return
	}
	for _, q := range m.pages(qs) {
		id := "holdgate-" + rand.Text()
		m.s.pages.Add(m.pageKey(q), id)
		m.s.pageAsked.Add(m.waitKey([]byte(`"`+id+`"`)), struct{}{})
		m.shown = append(m.shown, id)
		m.out.Render(func() []byte { return mcp.Event(mcp.ShowPage(id, pageText(q), m.s.pageFor(q.Request().ID))) })
	}
}

// endPages says of the pages that nothing more is to be done there.
func (m *mcpExchange) endPages() {
	for _, id := range m.shown {
		m.out.Render(func() []byte { return mcp.Event(mcp.PageDone(id)) })
	}
	m.shown = nil
}

// aboutPage takes what a client says to a page that it was to show. It is neither
// looked at nor sent on.
func (m *mcpExchange) aboutPage() bool {
	return !m.batch && m.msgs[0].IsResponse() && m.s.pageAsked.Remove(m.waitKey(m.msgs[0].ID))
}

// pageFirst answers a held call of revision 2026-07-28 by the page of what it waits
// for: the client shows it, makes the call again, and then waits. It reports
// whether the client has been answered.
func (m *mcpExchange) pageFirst(qs []*gate.Evaluation) bool {
	if m.batch || !m.revision26() || m.msgs[0].Method != "tools/call" || m.msgs[0].Continues() {
		return false
	}
	fresh := m.pages(qs)
	if len(fresh) != 1 {
		return false
	}
	m.s.pages.Add(m.pageKey(fresh[0]), "")
	_ = m.reply([][]byte{m.msgs[0].PageFirst(pageText(fresh[0]), m.s.pageFor(fresh[0].Request().ID))}) // a client that has gone makes the call again, and waits
	return true
}

// revision26 reports whether the client speaks a revision without requests of the
// server's.
func (m *mcpExchange) revision26() bool { return m.msgs[0].TaskRevision() == mcp.Task26 }

// withoutPage takes out of the body what the client says to a page.
func (m *mcpExchange) withoutPage() {
	if m.batch || m.s.c.Page == "" {
		return
	}
	if body, ok := mcp.WithoutPage(bytes.Trim(m.body, " \t\r\n")); ok {
		m.body = body
	}
}
