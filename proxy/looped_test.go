package proxy_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// inside sends a request over a connection and reads its answer.
func inside(t *testing.T, c net.Conn, br *bufio.Reader, request string) (int, string) {
	t.Helper()
	must(t, c.SetDeadline(time.Now().Add(patience)))
	_, err := io.WriteString(c, request)
	must(t, err)
	resp, err := http.ReadResponse(br, nil)
	must(t, err)
	defer resp.Body.Close()
	return resp.StatusCode, readAll(t, resp.Body)
}

// Clients that ask their proxy for the door's own address get the door, by
// whichever of its names; nothing else of Holdgate's is to be had so.
func TestAConnectToTheDoorItselfIsServedByIt(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGate(t, plainly(&seen, 200, `{}`))
	approvers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "the approvers' door")
	}))
	t.Cleanup(approvers.Close)
	g.s.Own(approvers.Listener.Addr())
	for _, host := range []string{g.addr, "localhost:" + g.port(), "[::1]:" + g.port(), "0.0.0.0:" + g.port()} {
		c, resp := g.tunnel(host)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("CONNECT %s: status %d", host, resp.StatusCode)
			continue
		}
		br := bufio.NewReader(c)
		if status, text := inside(t, c, br, "GET /up/test/x HTTP/1.1\r\nHost: "+g.addr+"\r\n\r\n"); status != 200 {
			t.Errorf("by %s: %d %s", host, status, text)
		}
		for request, want := range map[string]int{
			"GET /v1/approvals HTTP/1.1\r\nHost: " + g.addr + "\r\n\r\n":                                          404,
			"GET /up/test/x HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                               403,
			"GET http://" + approvers.Listener.Addr().String() + "/ HTTP/1.1\r\nHost: x\r\n\r\n":                  403,
			"CONNECT " + approvers.Listener.Addr().String() + " HTTP/1.1\r\nHost: x\r\n\r\n":                      403,
			"CONNECT " + g.addr + " HTTP/1.1\r\nHost: " + g.addr + "\r\n\r\n":                                     400,
			"GET /up/test/x HTTP/1.1\r\nHost: " + g.addr + "\r\nOrigin: https://evil.example\r\n\r\n":             403,
			"GET http://" + g.addr + "/up/test/forbidden HTTP/1.1\r\nHost: " + g.addr + "\r\nX-Agent: me\r\n\r\n": 403,
		} {
			if status, text := inside(t, c, br, request); status != want || strings.Contains(text, "approvers' door") {
				t.Errorf("%q: %d %s, want %d", request, status, text, want)
			}
		}
	}
	for _, host := range []string{approvers.Listener.Addr().String(), "localhost:" + fmt.Sprint(approvers.Listener.Addr().(*net.TCPAddr).Port)} {
		if _, resp := g.tunnel(host); resp.StatusCode != http.StatusForbidden {
			t.Errorf("CONNECT %s: status %d", host, resp.StatusCode)
		}
	}
	if _, resp := g.tunnel("example.com"); resp.StatusCode != 400 {
		t.Errorf("CONNECT without a port: status %d", resp.StatusCode)
	}
	if n := len(seen.all()); n != 4 {
		t.Errorf("the upstream was asked %d times, want 4", n)
	}
}

func TestAConnectToTheDoorItselfSpeaksNoTLS(t *testing.T) {
	t.Parallel()
	g := newGate(t, http.NotFoundHandler())
	if status := tunnelled(dialled(t, g.addr), g.addr, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", &tls.Config{InsecureSkipVerify: true}); status != 0 {
		t.Errorf("status %d", status)
	}
}

func dialled(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	must(t, c.SetDeadline(time.Now().Add(patience)))
	return c
}

// Who proves itself with CONNECT has done so for what is inside.
func TestAConnectToTheDoorItselfIsWhose(t *testing.T) {
	t.Parallel()
	up := &asker{}
	g := newGate(t, up, annAndBob(t), withPolicy(t, provenPolicy))
	c := dialled(t, g.addr)
	br := bufio.NewReader(c)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\nProxy-Authorization: %s\r\n\r\n", g.addr, basic("ann", annsToken))
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	must(t, err)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT: %d", resp.StatusCode)
	}
	if status, text := inside(t, c, br, "GET /up/test/x HTTP/1.1\r\nHost: "+g.addr+"\r\n\r\n"); status != 200 {
		t.Errorf("inside: %d %s", status, text)
	}
	if e := g.entries(audit.TypeDecision); len(e) != 1 || e[0].Call.Agent != "ann" || !e[0].Call.Proven {
		t.Errorf("the log says %+v", e)
	}
	if status, text := inside(t, c, br, "GET /up/test/x HTTP/1.1\r\nHost: "+g.addr+"\r\nHoldgate-Token: "+bobsToken+"\r\n\r\n"); status != 401 {
		t.Errorf("with another's token: %d %s", status, text)
	}
}

// A held answer takes the connection from its server and gives it back: it is
// what it was then.
func TestAConnectToTheDoorItselfWaitsForPeople(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGate(t, streamer(&seen, msgStart(), msgTool("0", "toolu_1", "gated"), msgEnd("tool_use")))
	c, resp := g.tunnel(g.addr)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT: %d", resp.StatusCode)
	}
	must(t, c.SetDeadline(time.Now().Add(patience)))
	br := bufio.NewReader(c)
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", messages, g.addr, len(askStream), askStream)
	g.decide(g.pending(1)[0], holdgate.AnswerApprove, "")
	answer, err := http.ReadResponse(br, nil)
	must(t, err)
	if text := readAll(t, answer.Body); !strings.Contains(text, msgTool("0", "toolu_1", "gated")) {
		t.Errorf("got %s", text)
	}
	if status, _ := inside(t, c, br, "CONNECT "+g.addr+" HTTP/1.1\r\nHost: "+g.addr+"\r\n\r\n"); status != 400 {
		t.Errorf("a CONNECT inside, after a held answer: %d", status)
	}
}
