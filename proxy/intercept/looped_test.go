package intercept_test

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

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// inside sends a request over a connection and reads its answer.
func inside(t *testing.T, c net.Conn, br *bufio.Reader, request string) (int, string) {
	t.Helper()
	proxytest.Must(t, c.SetDeadline(time.Now().Add(proxytest.Patience)))
	_, err := io.WriteString(c, request)
	proxytest.Must(t, err)
	resp, err := http.ReadResponse(br, nil)
	proxytest.Must(t, err)
	defer resp.Body.Close()
	return resp.StatusCode, proxytest.ReadAll(t, resp.Body)
}

// Clients that ask their proxy for the door's own address get the door, by
// whichever of its names; nothing else of Holdgate's is to be had so.
func TestAConnectToTheDoorItselfIsServedByIt(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{}`))
	approvers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "the approvers' door")
	}))
	t.Cleanup(approvers.Close)
	g.Server.Own(approvers.Listener.Addr())
	for _, host := range []string{g.Addr, "localhost:" + g.Port(), "[::1]:" + g.Port(), "0.0.0.0:" + g.Port()} {
		c, resp := g.Tunnel(host)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("CONNECT %s: status %d", host, resp.StatusCode)
			continue
		}
		br := bufio.NewReader(c)
		if status, text := inside(t, c, br, "GET /up/test/x HTTP/1.1\r\nHost: "+g.Addr+"\r\n\r\n"); status != 200 {
			t.Errorf("by %s: %d %s", host, status, text)
		}
		for request, want := range map[string]int{
			"GET /v1/approvals HTTP/1.1\r\nHost: " + g.Addr + "\r\n\r\n":                                          404,
			"GET /up/test/x HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                               403,
			"GET http://" + approvers.Listener.Addr().String() + "/ HTTP/1.1\r\nHost: x\r\n\r\n":                  403,
			"CONNECT " + approvers.Listener.Addr().String() + " HTTP/1.1\r\nHost: x\r\n\r\n":                      403,
			"CONNECT " + g.Addr + " HTTP/1.1\r\nHost: " + g.Addr + "\r\n\r\n":                                     400,
			"GET /up/test/x HTTP/1.1\r\nHost: " + g.Addr + "\r\nOrigin: https://evil.example\r\n\r\n":             403,
			"GET http://" + g.Addr + "/up/test/forbidden HTTP/1.1\r\nHost: " + g.Addr + "\r\nX-Agent: me\r\n\r\n": 403,
		} {
			if status, text := inside(t, c, br, request); status != want || strings.Contains(text, "approvers' door") {
				t.Errorf("%q: %d %s, want %d", request, status, text, want)
			}
		}
	}
	for _, host := range []string{approvers.Listener.Addr().String(), "localhost:" + fmt.Sprint(approvers.Listener.Addr().(*net.TCPAddr).Port)} {
		if _, resp := g.Tunnel(host); resp.StatusCode != http.StatusForbidden {
			t.Errorf("CONNECT %s: status %d", host, resp.StatusCode)
		}
	}
	if _, resp := g.Tunnel("example.com"); resp.StatusCode != 400 {
		t.Errorf("CONNECT without a port: status %d", resp.StatusCode)
	}
	if n := len(seen.All()); n != 4 {
		t.Errorf("the upstream was asked %d times, want 4", n)
	}
}

func TestAConnectToTheDoorItselfSpeaksNoTLS(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, http.NotFoundHandler())
	if status := proxytest.InTunnel(dialled(t, g.Addr), g.Addr, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", &tls.Config{InsecureSkipVerify: true}); status != 0 {
		t.Errorf("status %d", status)
	}
}

func dialled(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	proxytest.Must(t, err)
	t.Cleanup(func() { c.Close() })
	proxytest.Must(t, c.SetDeadline(time.Now().Add(proxytest.Patience)))
	return c
}

// Who proves itself with CONNECT has done so for what is inside.
func TestAConnectToTheDoorItselfIsWhose(t *testing.T) {
	t.Parallel()
	up := &proxytest.Recorder{}
	g := proxytest.New(t, up, proxytest.WithAnnAndBob(t), proxytest.WithPolicy(t, proxytest.ProvenPolicy))
	c := dialled(t, g.Addr)
	br := bufio.NewReader(c)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\nProxy-Authorization: %s\r\n\r\n", g.Addr, proxytest.Basic("ann", proxytest.AnnsToken))
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	proxytest.Must(t, err)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT: %d", resp.StatusCode)
	}
	if status, text := inside(t, c, br, "GET /up/test/x HTTP/1.1\r\nHost: "+g.Addr+"\r\n\r\n"); status != 200 {
		t.Errorf("inside: %d %s", status, text)
	}
	if e := g.Entries(audit.TypeDecision); len(e) != 1 || e[0].Call.Agent != "ann" || !e[0].Call.Proven {
		t.Errorf("the log says %+v", e)
	}
	if status, text := inside(t, c, br, "GET /up/test/x HTTP/1.1\r\nHost: "+g.Addr+"\r\nHoldgate-Token: "+proxytest.BobsToken+"\r\n\r\n"); status != 401 {
		t.Errorf("with another's token: %d %s", status, text)
	}
}

// A held answer takes the connection from its server and gives it back: it is
// what it was then.
func TestAConnectToTheDoorItselfWaitsForPeople(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")))
	c, resp := g.Tunnel(g.Addr)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT: %d", resp.StatusCode)
	}
	proxytest.Must(t, c.SetDeadline(time.Now().Add(proxytest.Patience)))
	br := bufio.NewReader(c)
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", proxytest.Messages, g.Addr, len(proxytest.AskStream), proxytest.AskStream)
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	answer, err := http.ReadResponse(br, nil)
	proxytest.Must(t, err)
	if text := proxytest.ReadAll(t, answer.Body); !strings.Contains(text, proxytest.MessageTool("0", "toolu_1", "gated")) {
		t.Errorf("got %s", text)
	}
	if status, _ := inside(t, c, br, "CONNECT "+g.Addr+" HTTP/1.1\r\nHost: "+g.Addr+"\r\n\r\n"); status != 400 {
		t.Errorf("a CONNECT inside, after a held answer: %d", status)
	}
}
