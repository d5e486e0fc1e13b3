package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/holdgate/holdgate/proxy/wire"
)

// MaxLine is the greatest length of a line in bytes. The sidecar's limit on
// bodies is mostly lower, and refuses with an answer.
const MaxLine = 64 << 20

// Lines cuts what an MCP client or server writes on its standard output into
// lines. It is for one goroutine.
type Lines struct {
	r     *bufio.Reader
	limit int
}

// NewLines reads lines of at most limit bytes from r.
func NewLines(r io.Reader, limit int) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// Next returns the next line without its newline; it is the caller's. A last
// line without one is a line. A line that is too long is passed over, with an
// error that wraps [wire.ErrTooLarge]: the line behind it can be read. At the
// end the error is [io.EOF].
func (l *Lines) Next() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if long = long || len(line)+len(bytes.TrimSuffix(part, []byte("\n"))) > l.limit; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long:
			return nil, fmt.Errorf("a line is longer than %d bytes: %w", l.limit, wire.ErrTooLarge)
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case err != nil:
			return nil, err
		}
		return bytes.TrimSuffix(line, []byte("\n")), nil
	}
}

// ErrTwoLines is why a line is refused that some readers take for several:
// those in Python, Java and .NET end a line at a CR by itself.
var ErrTwoLines = errors.New("a CR stands within the line, where some readers end it")

// Check returns [ErrTwoLines] where a line has a CR before its end.
func Check(line []byte) error {
	if bytes.ContainsAny(bytes.TrimRight(line, "\r"), "\r") {
		return ErrTwoLines
	}
	return nil
}

// Line makes one line of a JSON text: its line breaks are blanks between
// tokens, for a string has none. What has none already is returned as it is.
func Line(text []byte) []byte {
	text = bytes.TrimRight(text, "\n")
	if !bytes.ContainsAny(bytes.TrimRight(text, "\r"), "\r\n") {
		return text
	}
	out := bytes.Clone(text)
	for i, c := range out {
		if c == '\n' || c == '\r' {
			out[i] = ' '
		}
	}
	return out
}
