package mcp

import (
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A client may show its user a page (URL elicitation, revisions 2025-11-25 and
// 2026-07-28). What it says to that is the word of the agent's side.

// PageInput is the name under which a call's answer in revision 2026-07-28 wants a
// page to be shown.
const PageInput = "io.github.holdgate/page"

// OpensPages reports whether a client says with this message that it can show its
// user pages: as its session begins or, in revision 2026-07-28, with each request.
func (m Message) OpensPages() bool {
	capabilities := wire.Find(m.param("_meta"), metaCapabilities)
	if m.Method == "initialize" {
		capabilities = m.param("capabilities")
	}
	return wire.KindOf(wire.Find(wire.Find(capabilities, "elicitation"), "url")) == "an object"
}

// ShowPage is a server's request to show a page. The id is the elicitation's too.
func ShowPage(id, text, page string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"mode":"url","message":%s,"elicitationId":%s,"url":%s}}`, quote(id), quote(text), quote(id), quote(page))
}

// PageDone says that nothing more is to be done on a page.
func PageDone(id string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":%s}}`, quote(id))
}

// PageFirst answers a call of revision 2026-07-28: the page is to be shown, and the
// call made again.
func (m Message) PageFirst(text, page string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{%q:{"method":"elicitation/create","params":{"mode":"url","message":%s,"url":%s}}}}}`,
		m.ID, PageInput, quote(text), quote(page))
}

// Continues reports whether a call of revision 2026-07-28 brings what an earlier
// answer wanted.
func (m Message) Continues() bool {
	return m.param("inputResponses") != nil || m.param("requestState") != nil
}

// WithoutPage returns the message without what the client says of a page.
func (m Message) WithoutPage() Message {
	if raw, ok := WithoutPage(m.Raw); ok {
		m.Raw, m.Params, m.params = raw, wire.Find(raw, "params"), nil
	}
	return m
}

// WithoutPage returns a request without what the client says of a page; all other
// bytes stay. ok is false where it says nothing of one.
func WithoutPage(message []byte) (without []byte, ok bool) {
	inputs := wire.Find(wire.Find(message, "params"), "inputResponses")
	if wire.Find(inputs, PageInput) == nil {
		return message, false
	}
	left := 0
	inputs = wire.RewriteMembers(inputs, func(m wire.Member) []byte {
		if string(m.Name) == PageInput {
			return nil
		}
		left++
		return m.Value
	})
	if left == 0 {
		inputs = nil
	}
	return rewrite(message, map[string]func([]byte) []byte{
		"params": func(params []byte) []byte {
			return rewrite(params, map[string]func([]byte) []byte{"inputResponses": func([]byte) []byte { return inputs }})
		},
	}), true
}
