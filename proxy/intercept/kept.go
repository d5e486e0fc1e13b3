package intercept

import (
	"context"
	"net"
	"net/http"

	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/identity"
)

// A kept connection is one that was read ahead.
type kept struct {
	net.Conn
	ahead []byte      // comes first
	who   *caller.Who // as it was; nil: nobody's in particular
}

// Read implements [net.Conn].
func (k *kept) Read(b []byte) (int, error) {
	if len(k.ahead) == 0 {
		return k.Conn.Read(b)
	}
	n := copy(b, k.ahead)
	if k.ahead = k.ahead[n:]; len(k.ahead) == 0 {
		k.ahead = nil
	}
	return n, nil
}

// Bare is the connection itself, once what was read ahead of it is gone.
func (k *kept) Bare() net.Conn {
	if k.ahead == nil {
		return k.Conn
	}
	return k
}

// Outlive implements [model.Connections].
func (i *Interceptor) Outlive(r *http.Request) (ctx context.Context, done func(), giveBack func(c net.Conn, ahead []byte)) {
	ctx, to := context.Background(), i.returned // the server's own context ends when its handler returns
	if tun := TunnelOf(r.Context()); tun != nil {
		ctx, to = context.WithValue(ctx, tunnelKey{}, tun), i.tunnels.handed
	}
	if by, ok := caller.In(r.Context()); ok {
		ctx = caller.With(ctx, by)
	}
	ctx, done = i.c.Callers.Keep(ctx)
	who := caller.OfConnection(r.Context())
	return ctx, done, func(c net.Conn, ahead []byte) { to.hand(&kept{Conn: c, ahead: ahead, who: who}) }
}

// OuterContext keeps what is known of a connection for its requests.
func OuterContext(ctx context.Context, c net.Conn) context.Context {
	for k, ok := c.(*kept); ok; k, ok = c.(*kept) {
		if k.who != nil {
			ctx = caller.WithConnection(ctx, k.who)
		}
		c = k.Conn
	}
	if _, ok := c.(*looped); ok {
		ctx = context.WithValue(ctx, loopedKey{}, true)
	}
	if u, ok := c.(*net.UnixConn); ok {
		ctx = caller.WithPeer(ctx, identity.PeerOf(u))
	}
	return ctx
}
