package mcpproxy_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"
)

// An answer of which two readers could find the end in two places reaches no
// client, and what is behind an answer is never the next one's.
func TestAnswersOfMCPServersThatEndInTwoPlaces(t *testing.T) {
	t.Parallel()
	const chunks = "0\r\n\r\n"
	evil := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"evil"}]}}`
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	answer := func(fields, body string) string { return head + fields + "\r\n" + body }
	whole := answer("Content-Length: 78\r\n", proxytest.ToolResult)
	for name, tt := range map[string]struct {
		raw    string
		passes bool
	}{
		"a length and chunks":               {raw: answer("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", chunks+whole)},
		"two lengths":                       {raw: answer("Content-Length: 78\r\nContent-Length: 5\r\n", proxytest.ToolResult)},
		"a length that is folded":           {raw: answer("X-A: b\r\n Content-Length: 78\r\n", proxytest.ToolResult)},
		"chunks in HTTP/1.0":                {raw: strings.Replace(answer("Transfer-Encoding: chunked\r\n", chunks), "1.1", "1.0", 1)},
		"a chunk of another length":         {raw: answer("Transfer-Encoding: chunked\r\n", "4e\r\n"+evil+"x\r\n"+chunks)},
		"another protocol":                  {raw: "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"},
		"an answer behind the answer":       {raw: whole + answer("Content-Length: 78\r\n", evil), passes: true},
		"an answer behind the last chunk":   {raw: answer("Transfer-Encoding: chunked\r\n", "4e\r\n"+proxytest.ToolResult+"\r\n"+chunks+whole), passes: true},
		"an answer behind one without any":  {raw: "HTTP/1.1 204 No Content\r\n\r\n" + answer("Content-Length: 78\r\n", evil), passes: true},
		"an answer behind what is accepted": {raw: "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n" + answer("Content-Length: 78\r\n", evil), passes: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			proxytest.Must(t, err)
			t.Cleanup(func() { _ = ln.Close() })
			var calls atomic.Int32
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
							raw := tt.raw
							if calls.Add(1) > 1 {
								raw = whole
							}
							_, _ = io.WriteString(c, raw)
						}
					}()
				}
			}()
			g := proxytest.NewTo(t, nil, map[string]string{"files": "http://" + ln.Addr().String() + "/mcp"})
			resp := g.Call(t.Context(), proxytest.ToolCall("1", "x"), nil)
			body := proxytest.ReadAll(t, resp.Body)
			if passes := resp.StatusCode/100 == 2; passes != tt.passes || strings.Contains(body, "evil") {
				t.Errorf("status %d: %s", resp.StatusCode, body)
			}
			resp = g.Call(t.Context(), proxytest.ToolCall("1", "y"), nil)
			if got := proxytest.ReadAll(t, resp.Body); got != proxytest.ToolResult {
				t.Errorf("the next call is answered with status %d: %s", resp.StatusCode, got)
			}
			if calls.Load() != 2 {
				t.Errorf("the server got %d calls", calls.Load())
			}
		})
	}
}
