package wire_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A flusher is a compressor as all codings have it.
type flusher interface {
	io.WriteCloser
	Flush() error
}

// coding is one way of compressing under the name of a Content-Encoding.
type coding struct {
	name, header string
	new          func(io.Writer) flusher
}

func codings() []coding {
	must := func(f flusher, err error) flusher {
		if err != nil {
			panic(err)
		}
		return f
	}
	return []coding{
		{"gzip", "gzip", func(w io.Writer) flusher { return gzip.NewWriter(w) }},
		{"gzip under its old name", " X-GZip ", func(w io.Writer) flusher { return gzip.NewWriter(w) }},
		{"zlib", "deflate", func(w io.Writer) flusher { return zlib.NewWriter(w) }},
		{"bare deflate", "deflate", func(w io.Writer) flusher { return must(flate.NewWriter(w, 6)) }},
		{"brotli", "br", func(w io.Writer) flusher { return brotli.NewWriter(w) }},
		{"zstd", "zstd", func(w io.Writer) flusher { return must(zstd.NewWriter(w)) }},
	}
}

func (c coding) encode(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := c.new(&b)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(t *testing.T, r io.Reader, header string, limit int64) ([]byte, error) {
	t.Helper()
	d, err := wire.Decode(r, header, limit)
	if err != nil {
		t.Fatalf("Decode with %q: %v", header, err)
	}
	return io.ReadAll(d)
}

func TestDecode(t *testing.T) {
	const limit = 1 << 20
	body := chatRequest(100 << 10)
	for _, c := range append(codings(), coding{"identity", "identity", nil}, coding{"no coding", "", nil}) {
		t.Run(c.name, func(t *testing.T) {
			encoded := body
			if c.new != nil {
				encoded = c.encode(t, body)
			}
			got, err := decode(t, bytes.NewReader(encoded), c.header, limit)
			if err != nil || !bytes.Equal(got, body) {
				t.Errorf("got %d bytes and error %v, want %d bytes", len(got), err, len(body))
			}
			got, err = decode(t, iotest.OneByteReader(bytes.NewReader(encoded)), c.header, limit)
			if err != nil || !bytes.Equal(got, body) {
				t.Errorf("byte by byte: got %d bytes and error %v, want %d bytes", len(got), err, len(body))
			}
			got, err = decode(t, bytes.NewReader(encoded), c.header, int64(len(body)))
			if err != nil || len(got) != len(body) {
				t.Errorf("a body of exactly the limit: got %d bytes and error %v", len(got), err)
			}
			got, err = decode(t, bytes.NewReader(encoded), c.header, int64(len(body)-1))
			if !errors.Is(err, wire.ErrTooLarge) || len(got) != len(body)-1 {
				t.Errorf("a body over the limit: got %d bytes and error %v, want ErrTooLarge", len(got), err)
			}
			if got, err := decode(t, strings.NewReader(""), c.header, limit); len(got) != 0 || err != nil {
				t.Errorf("no bytes at all: got %q, %v", got, err)
			}
		})
	}
}

func TestDecodeRefusesBrokenBodies(t *testing.T) {
	body := []byte(strings.Repeat("some text that is worth compressing; ", 50))
	for _, c := range codings() {
		encoded := c.encode(t, body)
		tests := map[string][]byte{
			"cut after one byte":    encoded[:1],
			"cut in the middle":     encoded[:len(encoded)/2],
			"cut before its end":    encoded[:len(encoded)-1],
			"followed by garbage":   append(bytes.Clone(encoded), "garbage"...),
			"followed by one byte":  append(bytes.Clone(encoded), 0),
			"not compressed at all": body,
		}
		for name, b := range tests {
			t.Run(c.name+" "+name, func(t *testing.T) {
				for _, r := range []io.Reader{bytes.NewReader(b), iotest.OneByteReader(bytes.NewReader(b)), iotest.DataErrReader(bytes.NewReader(b))} {
					_, err := decode(t, r, c.header, 1<<20)
					if err == nil || errors.Is(err, wire.ErrTooLarge) {
						t.Errorf("got error %v, want one that says what is broken", err)
					}
				}
			})
		}
	}
}

func TestDecodeEndsBombs(t *testing.T) {
	const size, limit = 24 << 20, 1 << 30
	zeros := make([]byte, size)
	for _, c := range codings() {
		t.Run(c.name, func(t *testing.T) {
			encoded := c.encode(t, zeros)
			d, err := wire.Decode(bytes.NewReader(encoded), c.header, limit)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, d)
			if !errors.Is(err, wire.ErrTooLarge) {
				t.Errorf("%d bytes became %d and error %v, want ErrTooLarge", len(encoded), n, err)
			}
			if n > 16<<20 {
				t.Errorf("it took %d bytes to see it", n)
			}
			if _, again := d.Read(make([]byte, 1)); !errors.Is(again, wire.ErrTooLarge) {
				t.Errorf("reading on: %v", again)
			}
		})
	}
}

func TestDecodeRefusesOtherCodings(t *testing.T) {
	for _, header := range []string{"gzip, gzip", "identity,gzip", "gzip,", "compress", "aes128gcm", "gzip;q=1", "*", "dcb"} {
		_, err := wire.Decode(strings.NewReader("x"), header, 10)
		if !errors.Is(err, wire.ErrEncoding) || !strings.Contains(err.Error(), header) {
			t.Errorf("%q: got %v, want ErrEncoding that names it", header, err)
		}
	}
}

func TestDecodeGivesWhatWasFlushed(t *testing.T) {
	for _, c := range codings() {
		t.Run(c.name, func(t *testing.T) {
			pr, pw := io.Pipe()
			d, err := wire.Decode(pr, c.header, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			step := make(chan struct{})
			go func() {
				w := c.new(pw)
				for range 3 {
					if _, err := w.Write([]byte("data: {\"a\":1}\n\n")); err != nil {
						done <- err
						return
					}
					if err := w.Flush(); err != nil {
						done <- err
						return
					}
					<-step
				}
				err := w.Close()
				done <- errors.Join(err, pw.Close())
			}()
			for range 3 {
				got := make([]byte, len("data: {\"a\":1}\n\n"))
				if _, err := io.ReadFull(d, got); err != nil {
					t.Fatal(err)
				}
				step <- struct{}{}
			}
			if rest, err := io.ReadAll(d); len(rest) > 0 || err != nil {
				t.Errorf("got %q and error %v at the end", rest, err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDecodeKeepsTheSourcesError(t *testing.T) {
	gone := errors.New("connection reset")
	for _, c := range codings() {
		encoded := c.encode(t, []byte("hello"))
		_, err := decode(t, io.MultiReader(bytes.NewReader(encoded[:3]), iotest.ErrReader(gone)), c.header, 100)
		if !errors.Is(err, gone) {
			t.Errorf("%s: got %v, want the source's error", c.name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range codings() {
		var b bytes.Buffer
		w := c.new(&b)
		io.WriteString(w, strings.Repeat("hello ", 20))
		w.Close()
		f.Add(b.Bytes(), strings.ToLower(strings.TrimSpace(c.header)))
	}
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		d, err := wire.Decode(bytes.NewReader(body), header, 1<<16)
		if err != nil {
			return
		}
		if n, _ := io.Copy(io.Discard, d); n > 1<<16 {
			t.Errorf("%d bytes over a limit of %d", n, 1<<16)
		}
	})
}
