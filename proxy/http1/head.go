package http1

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"golang.org/x/net/http/httpguts"
)

// maxHead is how long the head of an answer is at most, in bytes.
const maxHead = 32 << 10

// readHead waits for the whole head of an answer and refuses what
// [http.ReadResponse], which reads it then, would let pass though two readers could
// see two answers in it: a length beside a transfer coding (RFC 9112 section 6.1),
// a transfer coding in HTTP/1.0, folded lines (section 5.2), and names that are none
// (section 5.1). It consumes nothing.
func readHead(r *bufio.Reader) error {
	line, at, err := peekLine(r, 0)
	if err != nil {
		return err
	}
	old := !bytes.HasPrefix(line, []byte("HTTP/1.1 "))
	if old && !bytes.HasPrefix(line, []byte("HTTP/1.0 ")) {
		return fmt.Errorf("the server's answer begins with %.40q, which is not HTTP/1.1", line)
	}
	length, coding := false, false
	for {
		if line, at, err = peekLine(r, at); err != nil {
			return err
		}
		if len(line) == 0 {
			break
		}
		name, _, found := bytes.Cut(line, []byte(":"))
		if !found || !httpguts.ValidHeaderFieldName(string(name)) {
			return fmt.Errorf("a line of the server's headers, %.40q, begins with no name", line)
		}
		length = length || bytes.EqualFold(name, []byte("Content-Length"))
		coding = coding || bytes.EqualFold(name, []byte("Transfer-Encoding"))
	}
	switch {
	case coding && length:
		return errors.New("the server's answer has a length and a transfer coding: where it ends can be read in two ways")
	case coding && old:
		return errors.New("the server's answer has a transfer coding, which HTTP/1.0 has not: where it ends can be read in two ways")
	}
	return nil
}

// peekLine returns the line that begins at from, without its end, and where the
// next one begins.
func peekLine(r *bufio.Reader, from int) (line []byte, next int, err error) {
	for {
		b, err := r.Peek(max(from+1, r.Buffered()))
		if i := bytes.IndexByte(b[from:], '\n'); i >= 0 {
			next = from + i + 1
			return bytes.TrimSuffix(b[from:next-1], []byte("\r")), next, nil
		}
		if err == nil {
			_, err = r.Peek(len(b) + 1)
		}
		switch {
		case err == nil:
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, 0, fmt.Errorf("the head of the server's answer is longer than %d bytes", maxHead)
		case errors.Is(err, io.EOF) && len(b) == 0:
			return nil, 0, errors.New("the server closed the connection and gave no answer")
		case errors.Is(err, io.EOF):
			return nil, 0, io.ErrUnexpectedEOF
		default:
			return nil, 0, err
		}
	}
}
