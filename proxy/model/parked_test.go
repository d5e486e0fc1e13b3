package model_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/route"
)

// parked waits until so many answers wait on connections that were taken from
// their server, with nothing left of what read them. It looks at all goroutines:
// tests that call it do not run beside others.
func parked(g *proxytest.Sidecar, n int) {
	g.T.Helper()
	proxytest.Await(g.T, fmt.Sprintf("%d parked answers, and no handler", n), func() (bool, any) {
		waiting, serving := 0, false
		for _, stack := range stacks() {
			if strings.Contains(stack, "model.(*parked).keep(") && strings.Contains(stack, "[IO wait") {
				waiting++
			}
			serving = serving || strings.Contains(stack, "proxy.(*Server).serveOuter(") || strings.Contains(stack, "proxy.(*Server).serveInner(")
		}
		return waiting == n && !serving, fmt.Sprintf("%d are, handlers: %v", waiting, serving)
	})
}

// A rawClient writes its requests itself, on one connection.
type rawClient struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

// raw connects to the door, or to the inside of a tunnel to host.
func raw(g *proxytest.Sidecar, t *testing.T, host string) *rawClient {
	t.Helper()
	if host == "" {
		c, err := net.Dial("tcp", g.Addr)
		proxytest.Must(t, err)
		t.Cleanup(func() { c.Close() })
		proxytest.Must(t, c.SetDeadline(time.Now().Add(proxytest.Patience)))
		return &rawClient{c, t, bufio.NewReader(c)}
	}
	c, _ := g.Tunnel(host)
	proxytest.Must(t, c.SetDeadline(time.Now().Add(proxytest.Patience)))
	conf := g.Trusting("127.0.0.1")
	conf.NextProtos = []string{"http/1.1"}
	inside := tls.Client(c, conf)
	proxytest.Must(t, inside.Handshake())
	return &rawClient{inside, t, bufio.NewReader(inside)}
}

func (c *rawClient) ask(path, host, body, header string) {
	c.t.Helper()
	_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", path, host, len(body), header, body)
	proxytest.Must(c.t, err)
}

func (c *rawClient) answer() *http.Response {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, nil)
	proxytest.Must(c.t, err)
	return resp
}

// The client notices nothing of its connection being taken from the server and
// given back: signs of life come, the answer has its end, and the connection
// serves the next request, which may have been sent at any time.
func TestAParkedConnectionIsTheClientsConnection(t *testing.T) {
	t.Parallel()
	call := proxytest.MessageTool("0", "toolu_1", "gated thing")
	for _, where := range []string{"door", "tunnel"} {
		for _, second := range []string{"before", "while it waits", "after"} {
			t.Run(where+", the next request "+second, func(t *testing.T) {
				g, up := proxytest.NewTLS(t, proxytest.Stream(&proxytest.Counter{}, proxytest.MessageStart(), call, proxytest.MessageEnd("tool_use")), proxytest.WithIdle(10*time.Millisecond))
				host, path, target := "", proxytest.Messages, g.Addr
				if where == "tunnel" {
					host = strings.TrimPrefix(up, "https://")
					path, target = "/v1/messages", host
				}
				c := raw(g, t, host)
				next := func() { c.ask(path, target, strings.Replace(proxytest.AskStream, "go", "gated no more, go on", 1), "") }
				c.ask(path, target, proxytest.AskStream, "")
				if second == "before" {
					next()
				}
				for round := range 2 {
					resp := c.answer()
					body := bufio.NewReader(resp.Body)
					proxytest.Until(t, body, "message_start")
					req := g.Pending(1)[0]
					for range 3 {
						proxytest.Until(t, body, "event: ping\n")
					}
					if second == "while it waits" && round == 0 {
						next()
					}
					g.Decide(req, holdgate.AnswerApprove, "")
					if rest := proxytest.ReadAll(t, body); !strings.Contains(rest, call) || !strings.HasSuffix(rest, proxytest.MessageEnd("tool_use")) {
						t.Errorf("the approved call is not what came:\n%s", rest)
					}
					if second == "after" && round == 0 {
						next()
					}
				}
				g.Verified()
			})
		}
	}
}

func TestAClientThatLeavesAParkedConnectionIsNoticed(t *testing.T) {
	var seen proxytest.Counter
	call := proxytest.MessageTool("0", "toolu_1", "gated thing")
	g, up := proxytest.NewTLS(t, proxytest.Stream(&seen, proxytest.MessageStart(), call, proxytest.MessageEnd("tool_use")))
	host := strings.TrimPrefix(up, "https://")
	for _, where := range []string{"", host} {
		path, target := proxytest.Messages, g.Addr
		if where != "" {
			path, target = "/v1/messages", host
		}
		c := raw(g, t, where)
		c.ask(path, target, proxytest.AskStream, "")
		proxytest.Until(t, bufio.NewReader(c.answer().Body), "message_start")
		first := g.Pending(1)[0]
		parked(g, 1)
		c.Close()
		g.Noticed()
		if got := g.Pending(1)[0].ID; got != first.ID {
			t.Errorf("request %s is pending, want %s still", got, first.ID)
		}

		again := raw(g, t, where)
		again.ask(path, target, proxytest.AskStream, "")
		body := bufio.NewReader(again.answer().Body)
		proxytest.Until(t, body, "message_start")
		g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
		if rest := proxytest.ReadAll(t, body); !strings.Contains(rest, call) {
			t.Errorf("the retry did not get the approved call:\n%s", rest)
		}
		again.Close()
		g.Noticed()
	}
	if n := len(seen.All()); n != 2 {
		t.Errorf("the model was asked %d times, want once for each door", n)
	}
}

// An answer that a shutdown ends must not look whole, and what is asked stays.
func TestAShutdownBreaksParkedAnswersOff(t *testing.T) {
	g := proxytest.New(t, proxytest.Stream(&proxytest.Counter{}, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated thing"), proxytest.MessageEnd("tool_use")))
	held, idle := raw(g, t, ""), raw(g, t, "")
	idle.ask(proxytest.Messages, g.Addr, strings.Replace(proxytest.AskStream, "go", "another", 1), "")
	done := idle.answer()
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	proxytest.ReadAll(t, done.Body)

	held.ask(proxytest.Messages, g.Addr, proxytest.AskStream, "")
	resp := held.answer()
	body := bufio.NewReader(resp.Body)
	proxytest.Until(t, body, "message_start")
	g.Pending(1)
	parked(g, 2)
	proxytest.Must(t, g.Server.Shutdown(t.Context()))
	if rest, err := io.ReadAll(body); err == nil {
		t.Errorf("the answer has an end:\n%s", rest)
	}
	if b, err := idle.r.ReadByte(); err != io.EOF {
		t.Errorf("a connection between two requests read %q, %v after the shutdown, want its end", b, err)
	}
	list, err := g.Queue.List(t.Context(), approvals.Filter{Status: holdgate.StatusPending})
	proxytest.Must(t, err)
	if len(list) != 1 {
		t.Errorf("%d requests are pending after a shutdown, want the one that was", len(list))
	}
}

func TestAParkedConnectionIsClosedWhereTheClientWantsThat(t *testing.T) {
	t.Parallel()
	call := proxytest.MessageTool("0", "toolu_1", "gated thing")
	g := proxytest.New(t, proxytest.Stream(&proxytest.Counter{}, proxytest.MessageStart(), call, proxytest.MessageEnd("tool_use")))
	c := raw(g, t, "")
	c.ask(proxytest.Messages, g.Addr, proxytest.AskStream, "Connection: close\r\n")
	resp := c.answer()
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	if rest := proxytest.ReadAll(t, resp.Body); !strings.Contains(rest, call) {
		t.Errorf("the approved call is not what came:\n%s", rest)
	}
	if _, err := c.r.ReadByte(); err != io.EOF {
		t.Errorf("after the answer: %v, want the connection's end", err)
	}
	c.Close()
	g.Noticed()
}

// What Holdgate answers the model itself follows on the same connection.
func TestAParkedAnswerGoesOn(t *testing.T) {
	formats := turnFormats()
	f := formats[slices.IndexFunc(formats, func(f turnFormat) bool { return f.name == "anthropic" })]
	g := proxytest.New(t, inTurn(t, route.Codecs(8 << 20)[0], f.typ, &proxytest.Counter{}, f.with("toolu_1", "gated thing"), f.text("All is well.")), withRounds(3))
	c := raw(g, t, "")
	c.ask(proxytest.Messages, g.Addr, proxytest.AskStream, "")
	resp := c.answer()
	req := g.Pending(1)[0]
	parked(g, 1)
	g.Decide(req, holdgate.AnswerDeny, "not today")
	got := proxytest.ReadAll(t, resp.Body)
	if !strings.Contains(got, "All is well.") || strings.Count(got, "event: message_stop") != 1 {
		t.Errorf("the turn did not go on as one answer:\n%s", got)
	}
}

// A body of which something is left when it has been decoded is refused: what is
// left would be the beginning of the next request where the connection is parked.
func TestNothingIsLeftOfABodyThatGoesOn(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated thing"), proxytest.MessageEnd("tool_use")))
	encoded := func(open func(io.Writer) io.WriteCloser) string {
		var b bytes.Buffer
		w := open(&b)
		_, err := io.WriteString(w, proxytest.AskStream)
		proxytest.Must(t, err)
		proxytest.Must(t, w.Close())
		return b.String()
	}
	for coding, body := range map[string]string{
		"gzip":    encoded(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		"deflate": encoded(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
		"br":      encoded(func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) }),
		"zstd":    encoded(func(w io.Writer) io.WriteCloser { z, err := zstd.NewWriter(w); proxytest.Must(t, err); return z }),
	} {
		for _, left := range []string{"G", "GET /up/test/v1/models HTTP/1.1\r\nHost: a\r\n\r\n"} {
			status, answer := g.Send(g.Client, http.MethodPost, g.URL+proxytest.Messages, body+left, http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {coding}})
			if status != http.StatusBadRequest || len(seen.All()) != 0 {
				t.Errorf("%s with %q behind: status %d, the model was asked %d times: %s", coding, left, status, len(seen.All()), answer)
			}
		}
	}
}
