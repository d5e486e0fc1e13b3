package mcpserver

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/holdgate/holdgate/proxy/mcp"
)

// firstWithoutBatches is the revision of MCP that took JSON-RPC batches out.
const firstWithoutBatches = "2025-06-18"

// unbatched is a stream of messages whose batches are answered with an error,
// unless the client has agreed on a revision that has batches. The SDK would
// take them in any revision, for a connection that is wrapped is not told what
// was agreed on.
type unbatched struct {
	io.Closer
	messages *json.Decoder
	rest     []byte
	out      io.Writer
	agreed   *revision
}

func newUnbatched(in io.ReadCloser, out io.Writer, agreed *revision) *unbatched {
	return &unbatched{Closer: in, messages: json.NewDecoder(in), out: out, agreed: agreed}
}

// Read implements [io.Reader].
func (u *unbatched) Read(b []byte) (int, error) {
	for len(u.rest) == 0 {
		var message json.RawMessage
		if err := u.messages.Decode(&message); err != nil {
			return 0, err
		}
		if message[0] != '[' || u.agreed.batches() {
			u.rest = append(message, '\n')
			continue
		}
		refusal := `{"jsonrpc":"2.0","id":null,"error":{"code":` + strconv.Itoa(mcp.CodeInvalidRequest) + `,"message":"this revision of MCP has no batches: send one message at a time"}}` + "\n"
		if _, err := io.WriteString(u.out, refusal); err != nil {
			return 0, err
		}
	}
	n := copy(b, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// A revision is that of MCP which a client and the server have agreed on. It is
// safe for concurrent use.
type revision struct {
	asking atomic.Pointer[jsonrpc.ID] // the request that asks for one
	agreed atomic.Pointer[string]
}

// asked notes a request of the client.
func (v *revision) asked(r *jsonrpc.Request) {
	if r.Method == "initialize" {
		v.asking.Store(&r.ID)
	}
}

// answered notes an answer to the client.
func (v *revision) answered(r *jsonrpc.Response) {
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if id := v.asking.Load(); id != nil && *id == r.ID && json.Unmarshal(r.Result, &result) == nil {
		v.agreed.Store(&result.ProtocolVersion)
	}
}

// batches reports whether batches are part of what was agreed on.
func (v *revision) batches() bool {
	agreed := v.agreed.Load()
	return agreed != nil && *agreed != "" && strings.Compare(*agreed, firstWithoutBatches) < 0
}

// A oneWriter writes for several goroutines, a whole message at a time.
type oneWriter struct {
	io.WriteCloser
	mu sync.Mutex
}

// Write implements [io.Writer].
func (w *oneWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(b)
}
