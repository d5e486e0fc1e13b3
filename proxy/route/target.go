// Package route says where a request goes, who makes it, and which format it speaks.
// A [Table] tells by the method, host, path and headers, however they are spelled;
// [Sniff] looks into a body where those say nothing.
package route

import (
	"context"
	"net/http"
	"net/url"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/wire"
)

// The doors, as policy and the log name them.
const (
	DoorBaseURL     = "base_url"
	DoorForward     = "forward"
	DoorTransparent = "transparent"
	DoorMCP         = "mcp"
	DoorStdio       = "stdio"
	DoorACP         = "acp"
)

// A Target is where a request is to go, whichever door it came through.
type Target struct {
	Recognised

	Door       string
	Name       string   // the upstream's or MCP server's configured name; empty for the forward proxy
	URL        *url.URL // absolute: what is sent upstream
	Named      bool     // the configuration names it
	MCP        bool     // an MCP server, whose name is Name
	Endpoint   string   // a secret: that of the MCP session whose endpoint this is; else empty
	Metadata   bool     // what is asked for says where the server's tokens come from
	Caller     approvals.Caller
	Credential string // the name of what is put in on the way out; empty: nothing
	Account    string // of a request to a model's host, as [holdgate.Call] has it

	Message   *wire.TalkMessage // of a request that came on a WebSocket; else nil
	Transport http.RoundTripper // where no socket leads to it; else nil
	// Gone ends with the one way to it that the request can take; nil: there are others.
	Gone    context.Context
	Process string // of a server on standard streams: whose streams these are, a secret
	Client  string // what an MCP client calls itself, where it is known
	Pages   bool   // it can show its user pages
}

// Recognised is what a request is by its method, host, path and headers. What
// its body says comes later; see [Sniff].
type Recognised struct {
	Codec  Codec  // of the format that is spoken; nil where none is
	models bool   // the host serves models
	Known  bool   // the configuration or the table names the host as one that serves models
	Why    string // the answer could carry calls that nobody would see, and why; else empty
	File   bool   // it is for a file that may be what has come of a batch
	Socket bool   // it asks for a WebSocket on which the codec is spoken: see [Talker]
}
