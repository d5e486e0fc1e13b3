package mcp

import (
	"strings"
	"time"
)

// patience is how long clients were seen to wait for a result over HTTP and over
// standard streams, less a margin; by how the name begins that they give
// themselves. Where progress makes a client wait on, it waits without end.
var patience = []struct {
	client      string
	http, stdio time.Duration
	progress    bool
}{
	{"claude-code", 290 * time.Second, 590 * time.Second, true}, // over HTTP silence ends it, and comments are silence
	{"codex-mcp-client", 290 * time.Second, 290 * time.Second, false},
	{"gemini-cli-mcp-client", 590 * time.Second, 590 * time.Second, false},
	{"opencode", 55 * time.Second, 55 * time.Second, true},
	{"qwen-c", 290 * time.Second, 290 * time.Second, false}, // "qwen-cli" and "qwen-code"; from 600 s on it sends the call once more
}

// Endless is longer than any request is pending.
const Endless = 366 * 24 * time.Hour

// DefaultPatience suits clients built on an official SDK, with its default of
// 60 s.
const DefaultPatience = 55 * time.Second

// Patience is how long the client of this name waits for a result, over standard
// streams or else over HTTP, where it is known. progress says that it gets word
// of progress meanwhile.
func Patience(client string, stdio, progress bool) (d time.Duration, known bool) {
	for _, p := range patience {
		switch {
		case !strings.HasPrefix(client, p.client):
			continue
		case p.progress && progress:
			return Endless, true
		case stdio:
			return p.stdio, true
		}
		return p.http, true
	}
	return 0, false
}
