package proxy_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/holdgate/holdgate/store/audit"
)

// fields is a list of header fields as HTTP/2 sends it: names and values in turn.
type fields []string

// at are the fields with what stands in braces filled in.
func (list fields) at(path, scheme, authority string) (filled fields) {
	fill := strings.NewReplacer("{path}", path, "{scheme}", scheme, "{authority}", authority)
	for _, f := range list {
		filled = append(filled, fill.Replace(f))
	}
	return filled
}

// say2 sends one request in HTTP/2 frames and returns its status, or 0 where
// the stream or the connection was ended instead.
func say2(t *testing.T, c net.Conn, list fields, body string) int {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(proxytest.Patience))
	_, _ = io.WriteString(c, http2.ClientPreface)
	fr := http2.NewFramer(c, c)
	fr.AllowIllegalWrites = true
	proxytest.Must(t, fr.WriteSettings())
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for i := 0; i < len(list); i += 2 {
		proxytest.Must(t, enc.WriteField(hpack.HeaderField{Name: list[i], Value: list[i+1]}))
	}
	proxytest.Must(t, fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: body == ""}))
	if body != "" {
		proxytest.Must(t, fr.WriteData(1, true, []byte(body)))
	}
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return 0
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			status, err := strconv.Atoi(f.PseudoValue("status"))
			proxytest.Must(t, err)
			if f.StreamEnded() {
				return status
			}
			if status != 100 {
				return status
			}
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return 0
		case *http2.SettingsFrame:
			if !f.IsAck() {
				proxytest.Must(t, fr.WriteSettingsAck())
			}
		}
	}
}

// http2Requests are what is said, with {path}, {scheme} and {authority} as the way in has them.
var http2Requests = []struct {
	name string
	list fields
	body string
	want string // "METHOD PATH BODY"; else nothing
}{
	{name: "a plain request", want: "GET /a ", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}"}},
	{name: "a body with its length", body: "abc", want: "POST /a abc", list: fields{":method", "POST", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "content-length", "3"}},
	{name: "a body shorter than its length", body: "abc", list: fields{":method", "POST", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "content-length", "30"}},
	{name: "a body longer than its length", body: "abcGET /forbidden HTTP/1.1\r\n\r\n", list: fields{":method", "POST", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "content-length", "3"}},
	{name: "two lengths", body: "abc", list: fields{":method", "POST", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "content-length", "2", "content-length", "3"}},
	{name: "a transfer coding", body: "3\r\nabc\r\n0\r\n\r\n", list: fields{":method", "POST", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "transfer-encoding", "chunked"}},
	{name: "a Connection", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "connection", "upgrade", "upgrade", "websocket"}},
	{name: "a TE of another kind", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "te", "gzip"}},
	{name: "two paths", list: fields{":method", "GET", ":path", "{path}", ":path", "{path}/forbidden", ":scheme", "{scheme}", ":authority", "{authority}"}},
	{name: "two methods", list: fields{":method", "GET", ":method", "DELETE", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}"}},
	{name: "two authorities", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", ":authority", "other.example"}},
	{name: "a pseudo-field behind the others", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", "x-a", "b", ":authority", "{authority}"}},
	{name: "a pseudo-field that nobody knows", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", ":x", "y"}},
	{name: "a protocol to connect to", list: fields{":method", "CONNECT", ":protocol", "websocket", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}"}},
	{name: "a tunnel in the tunnel", list: fields{":method", "CONNECT", ":authority", "127.0.0.9:1"}},
	{name: "a request line in the method", list: fields{":method", "GET /forbidden HTTP/1.1\r\nX: ", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}"}},
	{name: "a blank in the method", list: fields{":method", "GET /forbidden", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}"}},
	{name: "a line break in the path", list: fields{":method", "GET", ":path", "{path} HTTP/1.1\r\nX: y", ":scheme", "{scheme}", ":authority", "{authority}"}},
	{name: "a blank in the path is escaped", want: "GET /a%20HTTP/1.1 ", list: fields{":method", "GET", ":path", "{path} HTTP/1.1", ":scheme", "{scheme}", ":authority", "{authority}"}},
	{name: "no path", list: fields{":method", "GET", ":scheme", "{scheme}", ":authority", "{authority}"}},
	{name: "an empty path", list: fields{":method", "GET", ":path", "", ":scheme", "{scheme}", ":authority", "{authority}"}},
	{name: "a path of another host", list: fields{":method", "GET", ":path", "{scheme}://127.0.0.9:1/a", ":scheme", "{scheme}", ":authority", "{authority}"}},
	{name: "no authority", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}"}},
	{name: "the authority of another", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "other.example"}},
	{name: "an authority with a user", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "x@{authority}"}},
	{name: "an authority with a line break", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}\r\nX: y"}},
	{name: "a Host of another beside the authority goes no further", want: "GET /a ", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "host", "other.example"}},
	{name: "a name in capitals", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "Transfer-Encoding", "chunked"}},
	{name: "a name with a colon", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "x: y\r\ntransfer-encoding", "chunked"}},
	{name: "a name with a blank", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "transfer-encoding ", "chunked"}},
	{name: "an empty name", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "", "y"}},
	{name: "a value with a line break", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "x-a", "b\r\ntransfer-encoding: chunked"}},
	{name: "a value with a NUL", list: fields{":method", "GET", ":path", "{path}", ":scheme", "{scheme}", ":authority", "{authority}", "x-a", "b\x00c"}},
}

// TestHTTP2SaysNothingThatHTTP1WouldReadDifferently speaks HTTP/2 to the door
// itself and inside a tunnel, before an upstream that speaks HTTP/1.1: what is
// made of fields that are lines there.
func TestHTTP2SaysNothingThatHTTP1WouldReadDifferently(t *testing.T) {
	t.Parallel()
	doors := smugglers(t)
	base, inside := doors[1], doors[2]
	ways := []struct {
		name, scheme string
		door         smuggler
		dial         func() net.Conn
	}{
		{"a base URL", "http", base, base.dial},
		{"an intercepted tunnel", "https", inside, func() net.Conn {
			c, _ := inside.g.Tunnel(inside.host)
			conf := inside.g.Trusting("127.0.0.1")
			conf.NextProtos = []string{"h2"}
			return tls.Client(c, conf)
		}},
	}
	for _, way := range ways {
		for _, tt := range http2Requests {
			t.Run(way.name+"/"+tt.name, func(t *testing.T) {
				door := way.door
				before, _ := door.up.saw()
				judged := len(door.g.Entries(audit.TypeDecision))
				c := way.dial()
				defer c.Close()
				status := say2(t, c, tt.list.at(door.prefix+"/a", way.scheme, door.host), tt.body)
				requests, faults := door.up.saw()
				if len(faults) > 0 {
					t.Fatalf("the upstream could read it in two ways: %q", faults)
				}
				got := requests[len(before):]
				if tt.want == "" {
					if len(got) > 0 || status/100 == 2 {
						t.Errorf("status %d, the upstream got %q", status, got)
					}
					return
				}
				method, rest, _ := strings.Cut(tt.want, " ")
				path, body, _ := strings.Cut(rest, " ")
				if want := []string{method + " " + path + " " + door.up.addr + " " + body}; status != 200 || !slices.Equal(got, want) {
					t.Errorf("status %d, the upstream got %q, want %q", status, got, want)
				}
				if n := len(door.g.Entries(audit.TypeDecision)) - judged; n != 1 {
					t.Errorf("policy was asked %d times", n)
				}
			})
		}
	}
}
