package upstream

import (
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

// UpgradeOf is the protocol that a request asks to change to, or "".
func UpgradeOf(r *http.Request) string {
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

// UnseenFrames is what the log says of a request that changes the protocol.
const UnseenFrames = "the connection becomes a WebSocket, whose frames are not seen"

// AskUpgrade adds to a request that it changes the protocol.
func AskUpgrade(h http.Header) {
	h.Set("Connection", "Upgrade")
	h.Set("Upgrade", webSocket)
}

// ChangeProtocol takes an answer that changes the protocol: from here on bytes go
// both ways as they come, until either side ends. until is told how to end them,
// and returns how to forget that. An error says that the protocol was not asked
// for, or that the connection cannot be had: the client has no answer yet.
func ChangeProtocol(w http.ResponseWriter, resp *http.Response, asked string, until func(end func()) (forget func())) error {
	up, ok := resp.Body.(io.ReadWriteCloser)
	if asked == "" || !ok || !strings.EqualFold(resp.Header.Get("Upgrade"), asked) {
		return fmt.Errorf("the upstream changed to the protocol %s, and the request asked for %s", holdgate.Visible(resp.Header.Get("Upgrade")), orNone(asked))
	}
	h := wire.EndToEnd(resp.Header)
	AskUpgrade(h)
	c, brw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fmt.Errorf("taking the client's connection over: %w", err)
	}
	end := sync.OnceFunc(func() { _ = c.Close(); _ = up.Close() })
	defer end()
	defer until(end)()
	_ = c.SetDeadline(time.Time{})
	head := &strings.Builder{}
	_ = h.Write(head) // a strings.Builder takes everything
	if _, err := io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n"+head.String()+"\r\n"); err != nil {
		return nil // the client has gone
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		defer end()
		_, _ = io.Copy(up, brw) // how it ends is how the connection ends
	})
	_, _ = io.Copy(c, up)
	end()
	sending.Wait()
	return nil
}

func orNone(protocol string) string {
	if protocol == "" {
		return "none"
	}
	return protocol
}
