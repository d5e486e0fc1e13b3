package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// webSocket is the one protocol that a request may change to (RFC 6455). What
// else could be asked for is HTTP again, whose requests nobody would see, or
// nothing that is spoken by agents; such a request goes on as plain HTTP (RFC
// 9110 section 7.8 has the server choose).
const webSocket = "websocket"

// upgradeOf is the protocol that a request asks to change to, or "".
func upgradeOf(r *http.Request) string {
	values := r.Header.Values("Upgrade")
	if r.ProtoMajor != 1 || r.Method != http.MethodGet || r.ContentLength != 0 || len(values) != 1 || !strings.EqualFold(strings.TrimSpace(values[0]), webSocket) {
		return ""
	}
	for _, v := range r.Header.Values("Connection") {
		for token := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(token), "upgrade") {
				return webSocket
			}
		}
	}
	return ""
}

// unseenFrames is what the log says of a request that changes the protocol.
const unseenFrames = "the connection becomes a WebSocket, whose frames are not seen"

// askUpgrade adds to a request that it changes the protocol.
func askUpgrade(h http.Header) {
	h.Set("Connection", "Upgrade")
	h.Set("Upgrade", webSocket)
}

// switched takes an answer that changes the protocol: from here on bytes go both
// ways as they come, until either side ends, people stop the agent or the
// server shuts down. It fails where that was not asked for.
func (e *exchange) switched(resp *http.Response, asked string) {
	up, ok := resp.Body.(io.ReadWriteCloser)
	if asked == "" || !ok || !strings.EqualFold(resp.Header.Get("Upgrade"), asked) {
		e.malformed(fmt.Errorf("the upstream changed to the protocol %s, and the request asked for %s", holdgate.Visible(resp.Header.Get("Upgrade")), orNone(asked)))
		return
	}
	h := wire.EndToEnd(resp.Header)
	askUpgrade(h)
	c, brw, err := http.NewResponseController(e.w).Hijack()
	if err != nil {
		e.malformed(fmt.Errorf("taking the client's connection over: %w", err))
		return
	}
	end := sync.OnceFunc(func() { _ = c.Close(); _ = up.Close() })
	defer end()
	defer context.AfterFunc(e.s.life, end)()
	defer e.s.gate.WhenStopped(e.t.caller, end)()
	_ = c.SetDeadline(time.Time{})
	head := &strings.Builder{}
	_ = h.Write(head) // a strings.Builder takes everything
	if _, err := io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n"+head.String()+"\r\n"); err != nil {
		return
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		defer end()
		_, _ = io.Copy(up, brw) // how it ends is how the connection ends
	})
	if _, err := io.Copy(c, up); err != nil && !errors.Is(err, io.EOF) {
		e.s.c.Logger.Debug("a WebSocket ended", "host", e.t.url.Host, "err", err)
	}
	end()
	sending.Wait()
}

func orNone(protocol string) string {
	if protocol == "" {
		return "none"
	}
	return protocol
}
