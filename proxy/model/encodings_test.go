package model_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// encoders are the content codings that an upstream may answer in, whatever it
// was asked for.
func encoders() map[string]func(io.Writer) io.WriteCloser {
	return map[string]func(io.Writer) io.WriteCloser{
		"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w)
			if err != nil {
				panic(err)
			}
			return z
		},
		"bare deflate": func(w io.Writer) io.WriteCloser {
			z, err := flate.NewWriter(w, 6)
			if err != nil {
				panic(err)
			}
			return z
		},
	}
}

func encoded(t *testing.T, with func(io.Writer) io.WriteCloser, bodies ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, body := range bodies {
		w := with(&b)
		_, err := io.WriteString(w, body)
		proxytest.Must(t, err)
		proxytest.Must(t, w.Close())
	}
	return b.Bytes()
}

// In each format and content coding, a call that is refused does not reach the
// agent: the answer is decoded and the call refused in its place, or all of it is
// refused. What an agent could decode by itself is what is looked for.
func TestNoContentCodingHidesACall(t *testing.T) {
	t.Parallel()
	type reply struct {
		name   string
		header []string
		body   []byte
	}
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			usual := d.frame(d.events)
			half := len(usual) / 2
			var replies []reply
			for name, with := range encoders() {
				header := name
				if name == "bare deflate" {
					header = "deflate"
				}
				whole := encoded(t, with, usual)
				add := func(what string, body []byte, header ...string) {
					replies = append(replies, reply{name: name + ": " + what, header: header, body: body})
				}
				add("as it says", whole, header)
				add("in capitals", whole, strings.ToUpper(header))
				add("in two members", encoded(t, with, usual[:half], usual[half:]), header)
				add("twice, said once", encoded(t, with, string(whole)), header)
				add("twice", encoded(t, with, string(whole)), header+", "+header)
				add("twice, in two headers", encoded(t, with, string(whole)), header, header)
				add("and identity", whole, "identity", header)
				add("with a parameter", whole, header+";q=1")
				add("said to be nothing", whole, "identity")
				add("not said", whole)
				add("said of what is plain", []byte(usual), header)
				add("cut off", whole[:len(whole)-6], header)
				add("with something behind it", append(bytes.Clone(whole), usual...), header)
			}
			replies = append(replies, reply{name: "a coding that nobody knows", header: []string{"compress"}, body: []byte(usual)},
				reply{name: "a dictionary's", header: []string{"dcb"}, body: []byte(usual)},
				reply{name: "an empty coding", header: []string{""}, body: []byte(usual)})
			current := make(chan reply, 1)
			g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				re := <-current
				w.Header().Set("Content-Type", d.typ)
				w.Header()["Content-Encoding"] = re.header
				inPieces(w, string(re.body))
			}), proxytest.WithPolicy(t, denyCalls))
			for _, re := range replies {
				current <- re
				resp := g.Post(t.Context(), d.path, d.ask)
				body, err := io.ReadAll(resp.Body) // an answer that is cut off is one that was refused
				for _, seen := range decodings(body) {
					if strings.Contains(plainly64(seen), marker) {
						t.Errorf("%s: the call reached the agent: status %d, %v: %q", re.name, resp.StatusCode, err, seen)
					}
				}
				if strings.HasSuffix(re.name, "as it says") && (resp.StatusCode != http.StatusOK || err != nil || !strings.Contains(plainly64(body), proxytest.NoticeWord)) {
					t.Errorf("%s: it should be refused in its place: status %d, %v: %q", re.name, resp.StatusCode, err, body)
				}
			}
		})
	}
}

// decodings are all that somebody could make of a body.
func decodings(body []byte) (all [][]byte) {
	all = append(all, body)
	readers := []func(io.Reader) (io.Reader, error){
		func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
		func(r io.Reader) (io.Reader, error) { return flate.NewReader(r), nil },
		func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
		func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
	}
	for depth, from := 0, 0; depth < 2; depth++ {
		upTo := len(all)
		for _, b := range all[from:upTo] {
			for _, open := range readers {
				r, err := open(bytes.NewReader(b))
				if err != nil {
					continue
				}
				if got, _ := io.ReadAll(io.LimitReader(r, 1<<20)); len(got) > 0 {
					all = append(all, got)
				}
			}
		}
		from = upTo
	}
	return all
}

// An answer that grows a thousandfold ends at a bound, in each format and
// coding, and what it took on the way is not kept. With -short each format comes
// in one of the codings.
func TestBombsInAnswersEndInTime(t *testing.T) {
	size := 64 << 20
	if testing.Short() {
		size = 8 << 20
	}
	codings := encoders()
	delete(codings, "bare deflate")
	for i, d := range dialects() {
		for j, name := range slices.Sorted(maps.Keys(codings)) {
			if testing.Short() && j != i%len(codings) {
				continue
			}
			with := codings[name]
			t.Run(d.name+" "+name, func(t *testing.T) {
				var bomb bytes.Buffer
				w := with(&bomb)
				_, err := io.WriteString(w, d.frame(d.events[:1]))
				proxytest.Must(t, err)
				blank := bytes.Repeat([]byte(" "), 1<<20)
				for range size / len(blank) {
					_, err := w.Write(blank)
					proxytest.Must(t, err)
				}
				proxytest.Must(t, w.Close())
				g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Content-Type", d.typ)
					w.Header().Set("Content-Encoding", name)
					_, _ = w.Write(bomb.Bytes())
				}), proxytest.WithPolicy(t, denyCalls), proxytest.WithBodyLimit(4<<20))
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				resp := g.Post(t.Context(), d.path, d.ask)
				n, _ := io.Copy(io.Discard, resp.Body)
				runtime.ReadMemStats(&after)
				if n > 16<<20 {
					t.Errorf("%d bytes reached the agent", n)
				}
				if took := after.TotalAlloc - before.TotalAlloc; took > 128<<20 {
					t.Errorf("%d bytes of %d became %d MiB of memory", bomb.Len(), size, took>>20)
				}
			})
		}
	}
}
