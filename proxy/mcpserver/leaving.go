package mcpserver

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK drops what it has not answered yet when its client's stream ends, as that
// of `printf ... | holdgate mcp --self` does at once. Here the end is kept from it
// until the last request has been answered; what waits for people is answered then
// with word that it waits.

// An answering transport gives its connections the time to answer. leave is called
// when the client's stream has ended.
type answering struct {
	mcp.Transport
	leave  context.CancelFunc
	agreed *revision
}

// Connect implements [mcp.Transport].
func (t answering) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answeringConn{Connection: c, leave: t.leave, agreed: t.agreed, open: make(map[jsonrpc.ID]struct{}), closed: make(chan struct{})}, nil
}

type answeringConn struct {
	mcp.Connection
	leave  context.CancelFunc
	agreed *revision

	once   sync.Once
	closed chan struct{}

	mu   sync.Mutex
	open map[jsonrpc.ID]struct{} // requests that are not answered
	last chan struct{}           // closed when there are none; nil before the stream's end
}

// Read implements [mcp.Connection].
func (c *answeringConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if err != nil {
		c.leave()
		select {
		case <-c.answered():
		case <-c.closed:
		case <-ctx.Done():
		}
		return nil, err
	}
	if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() {
		c.agreed.asked(r)
		c.mu.Lock()
		c.open[r.ID] = struct{}{}
		c.mu.Unlock()
	}
	return msg, nil
}

// answered is closed when every request has been answered.
func (c *answeringConn) answered() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = make(chan struct{})
	if len(c.open) == 0 {
		close(c.last)
	}
	return c.last
}

// Write implements [mcp.Connection].
func (c *answeringConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	r, ok := msg.(*jsonrpc.Response)
	if ok {
		c.agreed.answered(r)
	}
	err := c.Connection.Write(ctx, msg)
	if !ok {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, was := c.open[r.ID]; !was {
		return err
	}
	if delete(c.open, r.ID); len(c.open) == 0 && c.last != nil {
		close(c.last)
	}
	return err
}

// Close implements [mcp.Connection].
func (c *answeringConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
