package proxy_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"golang.org/x/net/http/httpguts"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/store/audit"
)

// A rawUpstream is a server that reads HTTP/1.1 as its text says and is strict
// in what it takes: it writes down each request as it came, and every fault that
// could make another server read it differently.
type rawUpstream struct {
	t     testing.TB
	addr  string
	conns sync.WaitGroup

	mu       sync.Mutex
	requests []string // "METHOD TARGET HOST BODY"
	heads    []string
	faults   []string
	open     map[net.Conn]bool
}

func newRawUpstream(t testing.TB, conf *tls.Config) *rawUpstream {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	proxytest.Must(t, err)
	u := &rawUpstream{t: t, addr: ln.Addr().String(), open: map[net.Conn]bool{}}
	if conf != nil {
		ln = tls.NewListener(ln, conf)
	}
	u.conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			u.mu.Lock()
			u.open[c] = true
			u.mu.Unlock()
			u.conns.Go(func() { u.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		u.mu.Lock()
		for c := range u.open {
			_ = c.Close()
		}
		u.mu.Unlock()
		u.conns.Wait()
	})
	return u
}

func (u *rawUpstream) serve(c net.Conn) {
	defer c.Close()
	br := bufio.NewReader(c)
	for {
		head, err := rawHead(br)
		if err != nil {
			return
		}
		request, faults, err := rawRequest(br, head)
		u.mu.Lock()
		if err == nil { // one that ends in the midst is none
			u.requests = append(u.requests, request)
		}
		u.heads = append(u.heads, head)
		u.faults = append(u.faults, faults...)
		u.mu.Unlock()
		if err != nil {
			return
		}
		if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil {
			return
		}
	}
}

// rawHead reads up to the empty line.
func rawHead(br *bufio.Reader) (string, error) {
	var b strings.Builder
	for !strings.HasSuffix(b.String(), "\r\n\r\n") {
		line, err := br.ReadString('\n')
		b.WriteString(line)
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// rawRequest reads the body that a head announces.
func rawRequest(br *bufio.Reader, head string) (request string, faults []string, err error) {
	lines := strings.Split(strings.TrimSuffix(head, "\r\n\r\n"), "\r\n")
	first := strings.Split(lines[0], " ")
	if len(first) != 3 || first[2] != "HTTP/1.1" {
		return "", []string{"a request line: " + lines[0]}, io.ErrUnexpectedEOF
	}
	values := map[string][]string{}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		if !httpguts.ValidHeaderFieldName(name) || strings.ContainsAny(value, "\r\n\x00") {
			faults = append(faults, "a header line: "+line)
		}
		name = strings.ToLower(name)
		values[name] = append(values[name], strings.Trim(value, " \t"))
	}
	hosts, lengths, codings := values["host"], values["content-length"], values["transfer-encoding"]
	if len(hosts) != 1 || len(lengths)+len(codings) > 1 {
		faults = append(faults, fmt.Sprintf("Host %q, Content-Length %q, Transfer-Encoding %q", hosts, lengths, codings))
	}
	for _, name := range []string{"upgrade", "expect", "proxy-authorization", "proxy-connection", "keep-alive", "connection"} {
		if len(values[name]) > 0 && !slices.Equal(values[name], []string{"close"}) {
			faults = append(faults, fmt.Sprintf("%s: %q", name, values[name]))
		}
	}
	var body []byte
	switch {
	case len(codings) == 1 && codings[0] == "chunked":
		body, err = rawChunks(br)
	case len(codings) > 0:
		faults = append(faults, fmt.Sprintf("Transfer-Encoding: %q", codings))
	case len(lengths) > 0:
		n, nerr := strconv.ParseUint(lengths[0], 10, 31)
		if nerr != nil {
			return "", append(faults, nerr.Error()), nerr
		}
		body = make([]byte, n)
		_, err = io.ReadFull(br, body)
	}
	return fmt.Sprintf("%s %s %s %s", first[0], first[1], strings.Join(hosts, ","), body), faults, err
}

// rawChunks reads a chunked body without extensions (RFC 9112 section 7.1).
func rawChunks(br *bufio.Reader) (body []byte, err error) {
	tp := textproto.NewReader(br)
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(line, "\r\n"), 16, 31)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			_, err := tp.ReadMIMEHeader() // trailers
			return body, err
		}
		chunk := make([]byte, n+2)
		if _, err := io.ReadFull(br, chunk); err != nil {
			return nil, err
		}
		body = append(body, chunk[:n]...)
	}
}

func (u *rawUpstream) saw() (requests, faults []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.requests), slices.Clone(u.faults)
}

// A smuggler is a way to say raw bytes to a door.
type smuggler struct {
	name   string
	g      *proxytest.Sidecar
	up     *rawUpstream
	prefix string // of the request target
	host   string // of the Host header
	dial   func() net.Conn
}

func smugglers(t *testing.T) []smuggler {
	plain := newRawUpstream(t, nil)
	g := proxytest.NewTo(t, map[string]string{"test": "http://" + plain.addr}, nil)
	dial := func(addr string) func() net.Conn {
		return func() net.Conn {
			c, err := net.Dial("tcp", addr)
			proxytest.Must(t, err)
			return c
		}
	}
	certs := httptest.NewUnstartedServer(nil)
	certs.StartTLS()
	t.Cleanup(certs.Close)
	secret := newRawUpstream(t, &tls.Config{Certificates: certs.TLS.Certificates})
	tg := proxytest.NewTo(t, map[string]string{"test": "https://" + secret.addr}, nil, func(c *proxy.Config) {
		c.Network.RootCAs = certs.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	})
	moved := newRawUpstream(t, nil)
	mg := proxytest.NewTo(t, map[string]string{"test": "http://" + moved.addr}, nil)
	return []smuggler{
		{"the forward proxy", g, plain, "http://" + plain.addr, plain.addr, dial(g.Addr)},
		{"a base URL", g, plain, "/up/test", g.Addr, dial(g.Addr)},
		{"an intercepted tunnel", tg, secret, "", secret.addr, func() net.Conn {
			c, _ := tg.Tunnel(secret.addr)
			return tls.Client(c, tg.Trusting("127.0.0.1"))
		}},
		{"the transparent door", mg, moved, "", moved.addr, dial(mg.Redirect(moved.addr, nil))},
	}
}

// say writes a request, and reads answers until the door closes. The statuses
// are those of the answers.
func (s smuggler) say(t *testing.T, text string, cut bool) (statuses []int) {
	t.Helper()
	c := s.dial()
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(proxytest.Patience))
	_, _ = io.WriteString(c, text) // a door may have refused the first half of it already
	if cut {
		return nil
	}
	br := bufio.NewReader(c)
	for {
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			return statuses
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		statuses = append(statuses, resp.StatusCode)
	}
}

// last is what each attack is followed by: it ends the connection, and shows
// where the door thinks that the request before it has ended.
const last = "GET {P}/last HTTP/1.1\r\nHost: {H}\r\nConnection: close\r\n\r\n"

type attack struct {
	name, text string
	want       []string // what the upstream gets, as "METHOD PATH BODY"; else nothing
	cut        bool     // the body never ends: the client leaves
}

var attacks = []attack{
	{name: "a plain request", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length: 3\r\n\r\nabc", want: []string{"POST /a abc", "GET /last "}},
	{name: "two lengths that differ", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"},
	{name: "two lengths in one line", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length: 3, 4\r\n\r\nabcd"},
	{name: "the same length twice", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", want: []string{"POST /a abc", "GET /last "}},
	{name: "a length with a sign", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length: +3\r\n\r\nabc"},
	{name: "a negative length", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length: -1\r\n\r\nabc"},
	{name: "a length in hex", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length: 0x3\r\n\r\nabc"},
	{name: "a length that overflows", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length: 18446744073709551619\r\n\r\nabc"},
	{name: "an empty length", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length:\r\n\r\n"},
	{name: "a length and chunks: the chunks count", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", want: []string{"POST /a abc", "GET /last "}},
	{name: "chunks and a length that ends before them", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n", want: []string{"POST /a abc", "GET /last "}},
	{name: "chunks in HTTP/1.0", text: "POST {P}/a HTTP/1.0\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nabc", want: []string{"POST /a abc", "GET /last "}},
	{name: "a coding that is not known", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: xchunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
	{name: "chunked and identity", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked, identity\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
	{name: "identity before chunked", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: identity, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
	{name: "chunked twice", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
	{name: "chunked and then another", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
	{name: "a blank before the colon", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding : chunked\r\nContent-Length: 3\r\n\r\nabc"},
	{name: "a control character before chunked", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: \x0bchunked\r\nContent-Length: 3\r\n\r\nabc"},
	{name: "chunked in quotes", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: \"chunked\"\r\nContent-Length: 3\r\n\r\nabc"},
	{name: "a coding on a folded line", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding:\r\n chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", want: []string{"POST /a abc", "GET /last "}},
	{name: "a chunk with an extension loses it", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n", want: []string{"POST /a abc", "GET /last "}},
	{name: "a chunk's size on a bare LF", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n"},
	{name: "an extension with a bare LF", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n3;\nx\r\nabc\r\n0\r\n\r\n"},
	{name: "a chunk longer than it says", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n"},
	{name: "a chunk's size with a sign", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n"},
	{name: "a chunk's size with 0x", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n"},
	{name: "a chunk's size that overflows", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n0\r\n\r\n"},
	{name: "a chunk that is longer than what comes", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\nabc", cut: true},
	{name: "a body that is longer than what comes", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length: 300\r\n\r\nabc", cut: true},
	{name: "a request behind a body that ends", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET {P}/forbidden HTTP/1.1\r\nHost: {H}\r\n\r\n", want: []string{"POST /a ", "GET /last "}},
	{name: "trailers that frame", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n"},
	{name: "trailers that nobody announced", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nHost: other.example\r\nX-HTTP-Method-Override: DELETE\r\n\r\n", want: []string{"POST /a abc", "GET /last "}},
	{name: "a folded line", text: "GET {P}/a HTTP/1.1\r\nHost: {H}\r\nX-A: b\r\n X-C: d\r\n\r\n", want: []string{"GET /a ", "GET /last "}},
	{name: "a folded first line", text: "GET {P}/a HTTP/1.1\r\n X: y\r\nHost: {H}\r\n\r\n"},
	{name: "two Hosts", text: "GET {P}/a HTTP/1.1\r\nHost: {H}\r\nHost: other.example\r\n\r\n"},
	{name: "the same Host twice", text: "GET {P}/a HTTP/1.1\r\nHost: {H}\r\nHost: {H}\r\n\r\n"},
	{name: "two hosts in one", text: "GET {P}/a HTTP/1.1\r\nHost: {H}, other.example\r\n\r\n"},
	{name: "a Host with a path", text: "GET {P}/a HTTP/1.1\r\nHost: {H}/x\r\n\r\n"},
	{name: "a Host with a user", text: "GET {P}/a HTTP/1.1\r\nHost: x@{H}\r\n\r\n"},
	{name: "a Host with a blank before the colon", text: "GET {P}/a HTTP/1.1\r\nHost : {H}\r\n\r\n"},
	{name: "absolute form to another host", text: "GET http://127.0.0.9:1/a HTTP/1.1\r\nHost: {H}\r\n\r\n", want: []string{"GET /last "}},
	{name: "absolute form without a host", text: "GET http:/a HTTP/1.1\r\nHost: {H}\r\n\r\n", want: []string{"GET /last "}},
	{name: "absolute form that is opaque", text: "GET http:a HTTP/1.1\r\nHost: {H}\r\n\r\n", want: []string{"GET /last "}},
	{name: "a blank in the target", text: "GET {P}/a b HTTP/1.1\r\nHost: {H}\r\n\r\n"},
	{name: "a control character in the target", text: "GET {P}/a\x01 HTTP/1.1\r\nHost: {H}\r\n\r\n"},
	{name: "a method with odd bytes", text: "G\x00T {P}/a HTTP/1.1\r\nHost: {H}\r\n\r\n"},
	{name: "a method in brackets", text: "GET( {P}/a HTTP/1.1\r\nHost: {H}\r\n\r\n"},
	{name: "a version that there is not", text: "GET {P}/a HTTP/1.9\r\nHost: {H}\r\n\r\n", want: []string{"GET /a ", "GET /last "}},
	{name: "version 2 in text", text: "GET {P}/a HTTP/2.0\r\nHost: {H}\r\n\r\n"},
	{name: "a header's name with a NUL", text: "GET {P}/a HTTP/1.1\r\nHost: {H}\r\nX\x00: y\r\n\r\n"},
	{name: "a header's name with a byte above 127", text: "GET {P}/a HTTP/1.1\r\nHost: {H}\r\nX\xff: y\r\n\r\n"},
	{name: "a header's name with a slash", text: "GET {P}/a HTTP/1.1\r\nHost: {H}\r\nX/Y: y\r\n\r\n"},
	{name: "a header's value with a NUL", text: "GET {P}/a HTTP/1.1\r\nHost: {H}\r\nX: a\x00b\r\n\r\n"},
	{name: "a header's value with a bare CR", text: "GET {P}/a HTTP/1.1\r\nHost: {H}\r\nX: a\rTransfer-Encoding: chunked\r\n\r\n"},
	{name: "a header without a colon", text: "GET {P}/a HTTP/1.1\r\nHost: {H}\r\nX\r\n\r\n"},
	{name: "an expectation that is met here", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc", want: []string{"POST /a abc", "GET /last "}},
	{name: "an expectation that nobody knows", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nExpect: x\r\nContent-Length: 3\r\n\r\nabc"},
	{name: "a move to h2c", text: "GET {P}/a HTTP/1.1\r\nHost: {H}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", want: []string{"GET /last "}},
	{name: "a Connection that names what frames", text: "POST {P}/a HTTP/1.1\r\nHost: {H}\r\nConnection: Content-Length, Host\r\nContent-Length: 3\r\n\r\nabc", want: []string{"POST /a abc", "GET /last "}},
	{name: "a body that a GET has", text: "GET {P}/a HTTP/1.1\r\nHost: {H}\r\nContent-Length: 3\r\n\r\nabc", want: []string{"GET /a abc", "GET /last "}},
}

// TestWhatPolicySawIsWhatTheUpstreamGets says each attack to each door. Whatever
// a door makes of it, the upstream gets requests that can be read in one way
// only, each of which policy has allowed, and none besides.
func TestWhatPolicySawIsWhatTheUpstreamGets(t *testing.T) {
	t.Parallel()
	for _, door := range smugglers(t) {
		for _, tt := range attacks {
			t.Run(door.name+"/"+tt.name, func(t *testing.T) {
				before, _ := door.up.saw()
				judged := len(door.g.Entries(audit.TypeDecision))
				text := tt.text
				if !tt.cut {
					text += last
				}
				statuses := door.say(t, strings.NewReplacer("{P}", door.prefix, "{H}", door.host).Replace(text), tt.cut)
				requests, faults := door.up.saw()
				if len(faults) > 0 {
					t.Fatalf("the upstream could read it in two ways: %q", faults)
				}
				var got []string
				for _, r := range requests[len(before):] {
					method, rest, _ := strings.Cut(r, " ")
					target, rest, _ := strings.Cut(rest, " ")
					host, body, _ := strings.Cut(rest, " ")
					if host != door.up.addr {
						t.Errorf("the upstream was asked for %s", host)
					}
					got = append(got, method+" "+target+" "+body)
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("the upstream got %q, want %q (statuses %v)", got, tt.want, statuses)
				}
				if first := slices.Index(tt.want, "GET /last "); first < 1 && len(statuses) > 0 && statuses[0]/100 < 4 {
					t.Errorf("statuses %v", statuses)
				}
				allowed := map[string]int{}
				for _, e := range door.g.Entries(audit.TypeDecision)[judged:] {
					if e.Decision.Action == holdgate.Allow {
						allowed[e.Call.HTTP]++
					}
				}
				for _, r := range got {
					fields := strings.Split(r, " ")
					saw := fields[0] + " " + door.up.addr + fields[1]
					if allowed[saw]--; allowed[saw] < 0 {
						t.Errorf("the upstream got %s, and policy has allowed %v", saw, allowed)
					}
				}
			})
		}
	}
}

// TestAnApprovalIsForTheHeadersToo: a header says as much of what a request does
// as its body.
func TestAnApprovalIsForTheHeadersToo(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `done`), proxytest.WithBudget(50*time.Millisecond))
	send := func(headers ...string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/up/test/gated", strings.NewReader("body"))
		proxytest.Must(t, err)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := g.Client.Do(req)
		proxytest.Must(t, err)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	if status := send("X-Amz-Target", "T.GetItem", "X-Amz-Date", "1"); status != 503 {
		t.Fatalf("status %d", status)
	}
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	for _, h := range [][]string{{"X-Amz-Target", "T.DeleteTable"}, {}, {"X-Amz-Target", "T.GetItem", "X-HTTP-Method-Override", "DELETE"}, {"X-Amz-Target", "T.GetItem", "Cookie", "as=another"}} {
		if status := send(h...); status != 503 || len(seen.All()) != 0 {
			t.Errorf("an approval let a request with other headers go: %v, status %d", h, status)
		}
	}
	status := insisting(func() int { return send("X-Amz-Target", "T.GetItem", "X-Amz-Date", "2", "Traceparent", "x") })
	if status != 200 || len(seen.All()) != 1 {
		t.Errorf("the same request again: status %d, sent on %d times", status, len(seen.All()))
	}
}

// insisting asks again as a client does whose patience has ended, while the
// machine is too busy to answer within it.
func insisting(ask func() int) (status int) {
	for until := time.Now().Add(proxytest.Patience); ; {
		if status = ask(); status != http.StatusServiceUnavailable || time.Now().After(until) {
			return status
		}
	}
}

func TestWhatAServerCouldTakeForAnotherRequest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, target, header, value string
		override                            string
		unresolved                          []string
	}{
		{name: "nothing", method: "GET", target: "/a/b.c?x=%2F;y=//"},
		{name: "an encoded slash", method: "GET", target: "/a%2fb", unresolved: []string{"encoded_slash"}},
		{name: "an encoded backslash", method: "GET", target: "/a%5Cb", unresolved: []string{"encoded_slash", "backslash"}},
		{name: "an escape in an escape", method: "GET", target: "/a%252fb", unresolved: []string{"double_escape"}},
		{name: "encoded dots", method: "GET", target: "/a/%2e%2E/b", unresolved: []string{"dot_segment"}},
		{name: "dots behind an encoded slash", method: "GET", target: "/a%2f..%2fb", unresolved: []string{"encoded_slash", "dot_segment"}},
		{name: "dots before a parameter", method: "GET", target: "/a/..;x=y/b", unresolved: []string{"dot_segment", "parameter"}},
		{name: "a single dot", method: "GET", target: "/a/./b", unresolved: []string{"dot_segment"}},
		{name: "two slashes", method: "GET", target: "/a//b", unresolved: []string{"empty_segment"}},
		{name: "a NUL", method: "GET", target: "/a%00b", unresolved: []string{"bytes"}},
		{name: "an overlong slash", method: "GET", target: "/a%c0%afb", unresolved: []string{"bytes"}},
		{name: "another method", method: "POST", target: "/a", header: "X-HTTP-Method-Override", value: "delete", override: "DELETE"},
		{name: "another method, as CGI spells it", method: "POST", target: "/a", header: "X_http_method", value: "PATCH", override: "PATCH"},
		{name: "the same method", method: "POST", target: "/a", header: "X-Method-Override", value: "POST"},
		{name: "a method in the query", method: "POST", target: "/a?_method=delete", override: "DELETE"},
		{name: "two methods", method: "POST", target: "/a?_method=PUT", header: "X-HTTP-Method", value: "DELETE", unresolved: []string{"method_override"}},
		{name: "no method at all", method: "POST", target: "/a", header: "X-HTTP-Method", value: "DELETE, GET", unresolved: []string{"method_override"}},
		{name: "another path", method: "GET", target: "/a", header: "X-Original-URL", value: "/admin", unresolved: []string{"url_override"}},
		{name: "another path, as CGI spells it", method: "GET", target: "/a", header: "x_rewrite_url", value: "/admin", unresolved: []string{"url_override"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			if tt.header != "" {
				h[tt.header] = []string{tt.value}
			}
			override, unresolved := route.TwoReadings(tt.method, proxytest.ParseURL(t, "http://a.example"+tt.target), h)
			if override != tt.override || !slices.Equal(unresolved, tt.unresolved) {
				t.Errorf("got %q, %q", override, unresolved)
			}
		})
	}
	if override, _ := route.TwoReadings("POST", proxytest.ParseURL(t, "http://a.example/"), http.Header{"X-Http-Method": {"DELETE"}, "Connection": {"X-HTTP-Method"}}); override != "" {
		t.Errorf("a header that goes no further asks for %s", override)
	}
}
