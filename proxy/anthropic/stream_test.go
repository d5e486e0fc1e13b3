package anthropic_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/anthropic"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var (
	release = holdgate.Verdict{Release: true}
	refuse  = holdgate.Verdict{Notice: "[gate] not run: \"no\" \\ é"}
)

// parts reads a stream that comes in pieces to its end.
func parts(s wire.Stream, pieces ...string) (all []wire.Part, err error) {
	for _, p := range pieces {
		scratch := []byte(p)
		got, err := s.Push(scratch)
		all = append(all, got...)
		if err != nil {
			return all, err
		}
		for i := range scratch { // the stream must keep no reference to it
			scratch[i] = '#'
		}
	}
	got, err := s.End()
	return append(all, got...), err
}

func mustParts(t *testing.T, s wire.Stream, pieces ...string) []wire.Part {
	t.Helper()
	got, err := parts(s, pieces...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func mustPush(t *testing.T, s wire.Stream, piece string) []wire.Part {
	t.Helper()
	got, err := s.Push([]byte(piece))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// summary tells parts in lines, those that flow joined: how they were cut up
// depends on the network.
func summary(ps []wire.Part) string {
	var b strings.Builder
	flowing := 0
	flush := func() {
		if flowing > 0 {
			fmt.Fprintf(&b, "flow %d bytes\n", flowing)
		}
		flowing = 0
	}
	for _, p := range ps {
		if p.Call == nil {
			flowing += len(p.Bytes)
			continue
		}
		c := p.Call
		if p.Observed {
			flowing += len(p.Bytes)
			flush()
			fmt.Fprintf(&b, "observed %s %s", c.ID, c.Tool.Name)
		} else {
			flush()
			fmt.Fprintf(&b, "call %s %s, %d bytes", c.ID, c.Tool.Name, len(p.Bytes))
		}
		if c.Tool.Server != "" {
			fmt.Fprintf(&b, " server %s", c.Tool.Server)
		}
		if c.Tool.Arguments != nil {
			fmt.Fprintf(&b, " object %s\n", c.Tool.Arguments)
		} else {
			fmt.Fprintf(&b, " raw %q\n", c.Tool.ArgumentsRaw)
		}
	}
	flush()
	return b.String()
}

func joined(ps []wire.Part) string {
	var b strings.Builder
	for _, p := range ps {
		b.Write(p.Bytes)
	}
	return b.String()
}

// render writes the parts; the verdicts are for the calls to decide, and the
// last one goes on for ever.
func render(s wire.Stream, ps []wire.Part, verdicts ...holdgate.Verdict) string {
	var b strings.Builder
	for _, p := range ps {
		v := holdgate.Verdict{}
		if p.Call != nil && !p.Observed {
			v = verdicts[0]
			if len(verdicts) > 1 {
				verdicts = verdicts[1:]
			}
		}
		b.Write(s.Render(p, v))
	}
	return b.String()
}

func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("golden files: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: ar.Comment}
			add := func(name, data string) {
				got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(data)})
			}
			stream := string(ar.Files[0].Data)
			add("stream", stream)
			whole := checkCuts(t, stream)
			add("parts", whole)
			s := new(anthropic.Codec).Stream()
			add("refused", render(s, mustParts(t, s, stream), refuse))
			s = new(anthropic.Codec).Stream()
			add("first released", render(s, mustParts(t, s, stream), release, refuse))
			plain, err := new(anthropic.Codec).Collect([]byte(stream))
			if err != nil {
				t.Fatal(err)
			}
			add("plain", string(plain)+"\n")
			want := string(txtar.Format(ar))
			have := string(txtar.Format(got))
			if *update {
				if err := os.WriteFile(file, []byte(have), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// checkCuts cuts a stream at every byte, and each way must find the same. It
// returns what was found.
func checkCuts(t *testing.T, stream string) string {
	t.Helper()
	ps := mustParts(t, new(anthropic.Codec).Stream(), stream)
	if got := joined(ps); got != stream {
		t.Errorf("joined parts: %s", cmp.Diff(stream, got))
	}
	want := summary(ps)
	for cut := 1; cut < len(stream); cut++ {
		s := new(anthropic.Codec).Stream()
		ps := mustParts(t, s, stream[:cut], stream[cut:])
		if got := summary(ps); got != want {
			t.Fatalf("cut at %d: %s", cut, cmp.Diff(want, got))
		}
		if got := render(s, ps, release); got != stream {
			t.Fatalf("cut at %d, all released: %s", cut, cmp.Diff(stream, got))
		}
	}
	s := new(anthropic.Codec).Stream()
	if got := summary(mustParts(t, s, strings.Split(stream, "")...)); got != want {
		t.Fatalf("byte by byte: %s", cmp.Diff(want, got))
	}
	return want
}
