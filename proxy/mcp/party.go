package mcp

import (
	"bytes"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Cancels returns the id of the request that a message says is no longer wanted
// (notifications/cancelled), as written, or nil.
func (m Message) Cancels() []byte {
	if m.Method != "notifications/cancelled" || m.ID != nil {
		return nil
	}
	return m.param("requestId")
}

// ClientName is what a client calls itself where it says so: in the request
// that begins a session or, in revision 2026-07-28, in every request.
func (m Message) ClientName() string {
	info := wire.Find(m.param("_meta"), "io.modelcontextprotocol/clientInfo")
	if m.Method == "initialize" {
		info = m.param("clientInfo")
	}
	name, err := wire.Text(wire.Find(info, "name"))
	if err != nil {
		return ""
	}
	return name
}

// IsNoise reports whether no client could take a line for a message, or for a
// batch of them: some servers print what they do where only messages belong.
// There are clients to which a CR by itself ends a line.
func IsNoise(line []byte) bool {
	for part := range bytes.SplitSeq(line, []byte("\r")) {
		if !isNoise(part) {
			return false
		}
	}
	return true
}

func isNoise(line []byte) bool {
	const blanks = " \t\r\n\xEF\xBB\xBF"
	text := bytes.TrimLeft(line, blanks)
	if len(text) > 0 && text[0] == '[' {
		text = bytes.TrimLeft(text[1:], blanks)
	}
	return len(text) == 0 || text[0] != '{' && text[0] != '['
}
