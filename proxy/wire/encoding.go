package wire

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

var (
	// ErrEncoding is wrapped by [Decode] where a Content-Encoding is unknown
	// or lists more than one coding.
	ErrEncoding = errors.New("content encoding is not accepted")
	// ErrTooLarge is wrapped where a body is larger decoded than it may be, or
	// so much larger than it was encoded that it can only be a bomb.
	ErrTooLarge = errors.New("the body is too large")
)

const (
	// maxRatio is how many times larger than its encoded form a body may be.
	// Text shrinks some 3 to 20 times; gzip can reach 1,000, the others more.
	maxRatio = 250
	// freeSize is how much a body may have decoded, in bytes, before its ratio
	// counts.
	freeSize = 1 << 20
	// maxWindow is the largest window of zstd in bytes that a sender over HTTP
	// may ask for (RFC 9659).
	maxWindow = 8 << 20
)

// Decode returns a reader of r's bytes without the coding that a
// Content-Encoding names (RFC 9110, section 8.4): identity (or nothing), gzip,
// deflate (with the zlib header or without), br, zstd. Any other coding, and a
// list of several, is an [ErrEncoding] that names it.
//
// Nothing is read before the first Read, and what the sender has flushed can
// be read before more arrives. More than limit decoded bytes, or a body that
// swells as only bombs do, end in [ErrTooLarge] while reading; a body that is
// cut short, broken, or followed by something ends in another error. A body of
// no bytes at all is empty under every coding. The reader is for one goroutine
// and needs no closing.
func Decode(r io.Reader, encoding string, limit int64) (io.Reader, error) {
	d := &decoder{in: counter{r: r}, limit: limit}
	switch coding := strings.ToLower(strings.TrimSpace(encoding)); coding {
	case "", "identity":
		d.out = &d.in
		return d, nil
	case "gzip", "x-gzip":
		d.coding, d.open = "gzip", openGzip
	case "deflate":
		d.coding, d.open = coding, openDeflate
	case "br":
		d.coding, d.open = coding, openBrotli
	case "zstd":
		d.coding, d.open = coding, openZstd
	default:
		if strings.Contains(coding, ",") {
			return nil, fmt.Errorf("%w: %.100q names more than one coding", ErrEncoding, encoding)
		}
		return nil, fmt.Errorf("%w: %.100q is unknown; send identity, gzip, deflate, br or zstd", ErrEncoding, encoding)
	}
	return d, nil
}

// A decoder bounds what comes out of a coding.
type decoder struct {
	coding string // empty for identity
	in     counter
	open   func(*bufio.Reader) (io.Reader, error)
	out    io.Reader
	size   int64 // decoded so far
	limit  int64
	err    error
}

func (d *decoder) Read(p []byte) (n int, err error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.out == nil {
		if d.err = d.begin(); d.err != nil {
			return 0, d.err
		}
	}
	if room := d.limit - d.size; int64(len(p)) > room {
		p = p[:room+1] // one more, to see whether there is more
	}
	n, err = d.out.Read(p)
	d.size += int64(n)
	switch {
	case d.size > d.limit:
		n--
		d.err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, d.limit)
	case d.size > freeSize && d.size > maxRatio*d.in.n && d.coding != "":
		d.err = fmt.Errorf("%w: %s data swells to more than %d times its size", ErrTooLarge, d.coding, maxRatio)
		return 0, d.err
	case err != nil:
		d.err = d.named(err)
	}
	return n, d.err
}

func (d *decoder) begin() error {
	br := bufio.NewReader(&d.in)
	if _, err := br.Peek(1); err != nil {
		return err
	}
	out, err := d.open(br)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return d.named(err)
	}
	d.out = out
	return nil
}

// named says in an error which coding broke. A clean end, and errors of the
// source, stay what they are.
func (d *decoder) named(err error) error {
	if d.coding == "" || err == io.EOF || d.in.err != nil && !errors.Is(d.in.err, io.EOF) {
		return err
	}
	return fmt.Errorf("decoding %s: %w", d.coding, err)
}

// A counter counts what is read, and keeps the error that ended it.
type counter struct {
	r   io.Reader
	n   int64
	err error
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}

func openGzip(r *bufio.Reader) (io.Reader, error) {
	return gzip.NewReader(r) // takes garbage at the end for a broken member
}

// openDeflate tells zlib (RFC 1950), which is meant, from bare deflate
// (RFC 1951), which some senders use, as clients do: by the method in the
// first byte. No deflate stream that compressors write starts like it.
func openDeflate(r *bufio.Reader) (io.Reader, error) {
	first, err := r.Peek(1)
	if err != nil {
		return nil, err
	}
	var z io.Reader
	if first[0]&0x0f == 8 {
		if z, err = zlib.NewReader(r); err != nil {
			return nil, err
		}
	} else {
		z = flate.NewReader(r)
	}
	return &whole{z, r}, nil
}

func openBrotli(r *bufio.Reader) (io.Reader, error) {
	return brotli.NewReader(r), nil
}

func openZstd(r *bufio.Reader) (io.Reader, error) {
	// With a concurrency of one there are no goroutines to end.
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
}

// whole makes bytes behind the end of z's stream an error.
type whole struct {
	z io.Reader
	r *bufio.Reader
}

func (w *whole) Read(p []byte) (int, error) {
	n, err := w.z.Read(p)
	if err != io.EOF {
		return n, err
	}
	switch _, err := w.r.Peek(1); err {
	case nil:
		return n, errors.New("something follows the compressed data")
	default:
		return n, err
	}
}
