package intercept

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/holdgate/holdgate/proxy/caller"
)

// A looped connection is the inside of a CONNECT to the very door that it came in
// by. Clients that ask their proxy for every address do that, the door's own among
// them: one in a network of its own, that is told of the door as a base URL and as
// a proxy. What they say inside is served as if they had connected to the door
// straight away. Nothing is dialled, so that nothing else can be reached by it.
type looped struct{ net.Conn }

type loopedKey struct{}

// IsLooped reports whether a request came in by a CONNECT to this door.
func IsLooped(ctx context.Context) bool { return ctx.Value(loopedKey{}) != nil }

// ServeLooped serves a CONNECT to the door itself. What proves who asks is shown
// with CONNECT and counts inside.
func (i *Interceptor) ServeLooped(w http.ResponseWriter, r *http.Request) {
	i.c.Running.Add(1)
	defer i.c.Running.Done()
	c, _, err := (&readingOn{w}).Hijack()
	if err != nil {
		i.c.Logger.WarnContext(r.Context(), "taking the connection of a CONNECT to the door itself", "err", err)
		return
	}
	_ = c.SetDeadline(time.Now().Add(helloFor))
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetDeadline(time.Time{})
	k := &kept{Conn: &looped{c}}
	if by, ok := caller.In(r.Context()); ok {
		k.who = &by
	}
	i.returned.hand(k)
}
