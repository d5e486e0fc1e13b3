package mcpproxy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"
)

// BenchmarkMCP is a tool call and its result through the MCP door, by the shipped
// policy. Client and server only move bytes, so that what is allocated is
// Holdgate's; `holdgate bench` measures processes apart.
func BenchmarkMCP(b *testing.B) {
	answer := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(proxytest.ToolResult)) + "\r\n\r\n" + proxytest.ToolResult
	up := bareServer(b, []byte(answer))
	g := proxytest.NewTo(b, nil, map[string]string{"files": "http://" + up + "/mcp"}, proxytest.WithShippedPolicy())
	var calls atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		c, err := net.Dial("tcp", g.Addr)
		if err != nil {
			b.Error(err)
			return
		}
		defer c.Close()
		r := bufio.NewReader(c)
		for pb.Next() {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"src/main.go","note":"%s"}}}`, calls.Add(1), strings.Repeat("x", 800))
			fmt.Fprintf(c, "POST /mcp/files HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", g.Addr, len(body), body)
			got, err := readBare(r)
			if err != nil || !bytes.Equal(got, []byte(proxytest.ToolResult)) {
				b.Errorf("%.200s, %v", got, err)
				return
			}
		}
	})
}

// bareServer answers each POST with the same bytes.
func bareServer(tb testing.TB, answer []byte) (addr string) {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	proxytest.Must(tb, err)
	tb.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					if _, err := readBare(r); err != nil {
						return
					}
					_, _ = c.Write(answer)
				}
			}()
		}
	}()
	return ln.Addr().String()
}

// readBare reads one message of HTTP/1.1 that has a length, and returns its body.
func readBare(r *bufio.Reader) ([]byte, error) {
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if len(line) <= 2 {
			break
		}
		if name, v, _ := bytes.Cut(line, []byte(": ")); string(name) == http.CanonicalHeaderKey("content-length") {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r, body)
	return body, err
}
