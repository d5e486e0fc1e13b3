package bench

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2Request is what a request is over HTTP/2.
func (f format) h2Request(host string, size int, stream bool) *h2Request {
	body := f.body(size, stream)
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, h := range [][2]string{
		{":method", "POST"}, {":scheme", "https"}, {":authority", host}, {":path", choose(stream, f.streamPath, f.path)},
		{"user-agent", "bench"}, {"anthropic-version", "2023-06-01"}, {"x-api-key", "bench"}, {"content-type", "application/json"}, {"accept", "application/json, text/event-stream"}, {"content-length", strconv.Itoa(len(body))},
	} {
		// What is sensitive is not kept in the other side's table: the same block
		// does for every request (RFC 7541 section 6.2.3).
		_ = e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1], Sensitive: true}) // a bytes.Buffer takes everything
	}
	return &h2Request{block: block.Bytes(), body: []byte(body)}
}

type h2Request struct {
	block []byte // the header, compressed
	body  []byte
}

// An h2Conn is a lean client of HTTP/2 with one request at a time, as a conn is of
// HTTP/1.1.
type h2Conn struct {
	net.Conn
	w    *bufio.Writer
	fr   *http2.Framer
	req  *h2Request
	body counted

	id      uint32 // of the latest stream
	initial int64  // window of a stream, as the server says
	conn    int64  // what may be sent on the connection
	stream  int64  // and on the latest stream
	unread  uint32 // what was received and not yet given back to the connection's window

	first time.Time // of the latest answer's body
	size  int
	ended bool
}

const (
	h2Window    = 1 << 30
	h2GivenBack = 1 << 20
	h2Frame     = 16 << 10 // the largest that every server takes
	h2Default   = 1<<16 - 1
)

func newH2Conn(nc net.Conn, t target, n int) (*h2Conn, error) {
	if c, ok := nc.(*tls.Conn); !ok || c.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
		return nil, errors.New("HTTP/2 was not agreed upon")
	}
	c := &h2Conn{Conn: nc, w: bufio.NewWriterSize(nc, 96<<10), req: t.h2, body: newCounted(t.h2.body, n), initial: h2Default, conn: h2Default}
	c.fr = http2.NewFramer(c.w, bufio.NewReaderSize(nc, 32<<10))
	c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.fr.SetReuseFrames()
	_, err := c.w.WriteString(http2.ClientPreface)
	return c, errors.Join(err,
		c.fr.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 0}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: h2Window}),
		c.fr.WriteWindowUpdate(0, h2Window-h2Default))
}

// exchange implements [client].
func (c *h2Conn) exchange() (first time.Time, size int, err error) {
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	c.body.count()
	c.id += 2
	if c.id == 2 {
		c.id = 1
	}
	c.stream, c.first, c.size, c.ended = c.initial, time.Time{}, 0, false
	if err := c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: c.id, BlockFragment: c.req.block, EndHeaders: true}); err != nil {
		return first, 0, err
	}
	for rest := c.body.text; len(rest) > 0; {
		n := min(int64(len(rest)), h2Frame, c.conn, c.stream)
		if n <= 0 {
			if err := c.next(); err != nil {
				return first, 0, err
			}
			continue
		}
		if err := c.fr.WriteData(c.id, int(n) == len(rest), rest[:n]); err != nil {
			return first, 0, err
		}
		rest, c.conn, c.stream = rest[n:], c.conn-n, c.stream-n
	}
	for !c.ended {
		if err := c.next(); err != nil {
			return first, 0, err
		}
	}
	return c.first, c.size, nil
}

// next sends what is there to send, and takes one frame.
func (c *h2Conn) next() error {
	if err := c.w.Flush(); err != nil {
		return err
	}
	f, err := c.fr.ReadFrame()
	if err != nil {
		return err
	}
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		if status := f.PseudoValue("status"); status != "200" && !f.StreamEnded() {
			return fmt.Errorf("the answer has the status %s", status)
		}
		c.ended = f.StreamEnded()
	case *http2.DataFrame:
		if len(f.Data()) > 0 && c.first.IsZero() {
			c.first = time.Now()
		}
		c.size += len(f.Data())
		c.ended = f.StreamEnded()
		if c.unread += f.Length; c.unread > h2GivenBack {
			err = c.fr.WriteWindowUpdate(0, c.unread)
			c.unread = 0
		}
	case *http2.SettingsFrame:
		err = c.settings(f)
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			c.conn += int64(f.Increment)
		} else if f.StreamID == c.id {
			c.stream += int64(f.Increment)
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			err = c.fr.WritePing(true, f.Data)
		}
	case *http2.RSTStreamFrame:
		if f.StreamID == c.id {
			err = fmt.Errorf("the stream was reset: %s", f.ErrCode)
		}
	case *http2.GoAwayFrame:
		err = fmt.Errorf("the connection was ended: %s", f.ErrCode)
	}
	return err
}

func (c *h2Conn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
		c.stream += int64(v) - c.initial
		c.initial = int64(v)
	}
	return c.fr.WriteSettingsAck()
}
