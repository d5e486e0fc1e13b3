package proxy

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

// compressed is a body in each encoding that upstreams use.
func compressed(t *testing.T, body []byte) map[string][]byte {
	t.Helper()
	writers := map[string]func(io.Writer) (io.WriteCloser, error){
		"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		"zlib": func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil },
		"bare": func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.DefaultCompression) },
		"br":   func(w io.Writer) (io.WriteCloser, error) { return brotli.NewWriter(w), nil },
		"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	}
	out := map[string][]byte{"identity": body}
	for name, open := range writers {
		var b bytes.Buffer
		w, err := open(&b)
		must(t, err)
		_, err = w.Write(body)
		must(t, err)
		must(t, w.Close())
		out[name] = b.Bytes()
	}
	return out
}

// In each format and each encoding, wherever the answer is cut on its way, what is
// allowed passes byte for byte, and the same call is seen.
func TestWhatIsAllowedPassesCutAnywhereInEveryEncoding(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			var codec route.Codec
			for _, c := range route.Codecs(8 << 20) {
				if c.Name() == d.name {
					codec = c
				}
			}
			body := []byte(d.frame(d.events))
			for name, encoded := range compressed(t, body) {
				header := map[string]string{"zlib": "deflate", "bare": "deflate"}[name]
				if header == "" {
					header = name
				}
				for cut := range len(encoded) + 1 {
					src, err := wire.Decode(io.MultiReader(bytes.NewReader(encoded[:cut]), bytes.NewReader(encoded[cut:])), header, 1<<20)
					must(t, err)
					calls, out, err := wiretest.Read(streamOf(codec, d.typ), src, nil)
					if err != nil || len(calls) != 1 || out != string(body) {
						t.Fatalf("%s cut at %d: %d calls, %v: %q", name, cut, len(calls), err, out)
					}
				}
			}
		})
	}
}

func streamOf(c route.Codec, typ string) wire.Stream {
	if f, ok := c.(route.Framer); ok && typ != route.TypeEvents {
		return f.StreamAs(typ)
	}
	return c.Stream()
}
