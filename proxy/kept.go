package proxy

import (
	"context"
	"net"
	"net/http"
)

// A kept connection is one that was read ahead.
type kept struct {
	net.Conn
	ahead []byte // comes first
	who   *who   // as it was; nil: nobody's in particular
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
func (s *Server) Outlive(r *http.Request) (ctx context.Context, giveBack func(c net.Conn, ahead []byte)) {
	ctx, to := context.Background(), s.returned // the server's own context ends when its handler returns
	if tun, inner := r.Context().Value(tunnelKey{}).(*tunnel); inner {
		ctx, to = context.WithValue(ctx, tunnelKey{}, tun), s.tunnels.handed
	}
	if by, ok := whoIn(r.Context()); ok {
		ctx = withWho(ctx, by)
	}
	who := connectionOf(r.Context())
	return ctx, func(c net.Conn, ahead []byte) { to.hand(&kept{Conn: c, ahead: ahead, who: who}) }
}
