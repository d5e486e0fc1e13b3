package http1

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
)

// answers are what a server may write. Where fault is set it stands in the error,
// or the body breaks off; the connection is used again where kept says so.
var answers = []struct {
	name, raw  string
	body       string
	fault      string
	kept, open bool // open: the server does not end the connection
}{
	{name: "a length", raw: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", body: "ok", kept: true, open: true},
	{name: "chunks", raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1;x=y\r\nk\r\n0\r\n\r\n", body: "ok", kept: true, open: true},
	{name: "chunks with a trailer", raw: "HTTP/1.1 200 OK\r\nTrailer: X-A\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-A: b\r\n\r\n", body: "ok", kept: true, open: true},
	{name: "chunks with a trailer that was not announced", raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-A: b\r\n\r\n", body: "ok", kept: true, open: true},
	{name: "until the end", raw: "HTTP/1.1 200 OK\r\n\r\nok", body: "ok"},
	{name: "HTTP/1.0", raw: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", body: "ok", open: true},
	{name: "no body", raw: "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", kept: true, open: true},
	{name: "no content", raw: "HTTP/1.1 204 No Content\r\n\r\n", kept: true, open: true},
	{name: "lines without a carriage return", raw: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", body: "ok", kept: true, open: true},
	{name: "the same length twice", raw: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", body: "ok", kept: true, open: true},
	{name: "it closes", raw: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", body: "ok", open: true},
	{name: "another answer ahead", raw: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", body: "ok", kept: true, open: true},

	{name: "more than the length", raw: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", body: "ok", open: true},
	{name: "more than no content", raw: "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nevil", open: true},
	{name: "more than the chunks", raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", body: "ok", open: true},

	{name: "a length and chunks", raw: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", fault: "a length and a transfer coding", open: true},
	{name: "chunks and a length in other letters", raw: "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-LENGTH: 2\r\n\r\n0\r\n\r\n", fault: "a length and a transfer coding", open: true},
	{name: "a length and chunks in the answer ahead", raw: "HTTP/1.1 103 Early Hints\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", fault: "a length and a transfer coding", open: true},
	{name: "chunks in HTTP/1.0", raw: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", fault: "HTTP/1.0 has not", open: true},
	{name: "two lengths", raw: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok.", fault: "Content-Length", open: true},
	{name: "a list of lengths", raw: "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok.", fault: "Content-Length", open: true},
	{name: "a signed length", raw: "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", fault: "Content-Length", open: true},
	{name: "another coding", raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", fault: "transfer encoding", open: true},
	{name: "two codings", raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", fault: "transfer encodings", open: true},
	{name: "a folded line", raw: "HTTP/1.1 200 OK\r\nX-A: b\r\n Content-Length: 2\r\n\r\nok", fault: "begins with no name", open: true},
	{name: "a folded coding", raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n0\r\n\r\n", fault: "begins with no name", open: true},
	{name: "a blank before the colon", raw: "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok", fault: "begins with no name", open: true},
	{name: "a line without a colon", raw: "HTTP/1.1 200 OK\r\nContent-Length\r\n\r\nok", fault: "begins with no name", open: true},
	{name: "a name that is none", raw: "HTTP/1.1 200 OK\r\nContent(Length): 2\r\n\r\nok", fault: "begins with no name", open: true},
	{name: "a carriage return within a value", raw: "HTTP/1.1 200 OK\r\nX-A: b\rContent-Length: 2\r\n\r\nok", fault: "malformed", open: true},
	{name: "a NUL within a value", raw: "HTTP/1.1 200 OK\r\nX-A: b\x00\r\nContent-Length: 2\r\n\r\nok", fault: "malformed", open: true},
	{name: "another protocol", raw: "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok", fault: "is not HTTP/1.1", open: true},
	{name: "no HTTP", raw: "220 mail.example ESMTP\r\n", fault: "is not HTTP/1.1", open: true},
	{name: "a body before the status", raw: "\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", fault: "is not HTTP/1.1", open: true},
	{name: "a status that there is not", raw: "HTTP/1.1 099 No\r\nContent-Length: 2\r\n\r\nok", fault: "which there is not", open: true},
	{name: "another protocol to go on with", raw: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", fault: "nobody has asked for", open: true},
	{name: "answers ahead without an end", raw: strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100), fault: "only announce another", open: true},
	{name: "a head that is too long", raw: "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", maxHead), fault: "longer than", open: true},
	{name: "a head of too many lines", raw: "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: b\r\n", maxHead/8), fault: "longer than", open: true},
	{name: "a chunk that is longer than it says", raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nok\r\n0\r\n\r\n", fault: "chunk", open: true},
	{name: "a chunk whose length is none", raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n", fault: "chunk", open: true},
	{name: "a chunk with a signed length", raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nok\r\n0\r\n\r\n", fault: "chunk", open: true},
	{name: "a chunk whose length is no number of ours", raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000002\r\nok\r\n0\r\n\r\n", fault: "chunk", open: true},
	{name: "a chunk's line without a carriage return", raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nok\r\n0\r\n\r\n", fault: "chunk", open: true},
	{name: "nothing", fault: "gave no answer"},
	{name: "half a head", raw: "HTTP/1.1 200 OK\r\nContent-Le", fault: "unexpected EOF"},
	{name: "half a body", raw: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok", fault: "unexpected EOF"},
	{name: "half the chunks", raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", fault: "unexpected EOF"},
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range answers {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, func(n int, c net.Conn, r *bufio.Reader) {
				for {
					if _, err := request(r); err != nil {
						return
					}
					raw := tt.raw
					if n > 0 {
						raw = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfresh"
					}
					if _, err := io.WriteString(c, raw); err != nil || n == 0 && !tt.open {
						return
					}
				}
			})
			c := newClient(t, nil)
			got, err := c.say(t.Context(), t, s.Addr().String(), "{}")
			if tt.fault == "" && (err != nil || got != tt.body) {
				t.Fatalf("got %q, %v; want %q", got, err, tt.body)
			}
			if tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
				t.Fatalf("got %q, %v; want the fault %q", got, err, tt.fault)
			}
			if tt.kept != (c.kept() == 1) {
				t.Fatalf("%d connections are kept", c.kept())
			}
			want := "fresh" // what is behind an answer is no answer
			if tt.kept {
				want = tt.body
			}
			if got, err := c.say(t.Context(), t, s.Addr().String(), "{}"); err != nil || got != want {
				t.Errorf("then got %q, %v; want %q", got, err, want)
			}
		})
	}
}

// Answers that come in pieces of any size are the same ones.
func TestAnswersInPieces(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 2\r\n\r\nok",
	} {
		r := &pieces{raw: raw}
		s := newServer(t, func(_ int, c net.Conn, in *bufio.Reader) {
			for size := 1; size < len(raw); size++ {
				if _, err := request(in); err != nil {
					return
				}
				if err := r.write(c, size); err != nil {
					return
				}
			}
		})
		c := newClient(t, nil)
		for size := 1; size < len(raw); size++ {
			if got, err := c.say(t.Context(), t, s.Addr().String(), "{}"); err != nil || got != "ok" {
				t.Fatalf("in pieces of %d bytes: %q, %v", size, got, err)
			}
		}
	}
}

type pieces struct{ raw string }

func (p *pieces) write(w io.Writer, size int) error {
	for rest := p.raw; rest != ""; {
		n := min(size, len(rest))
		if _, err := io.WriteString(w, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}
