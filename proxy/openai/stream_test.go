package openai_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/openai"
	"github.com/holdgate/holdgate/proxy/wire"
)

var update = flag.Bool("update", false, "write what is seen into testdata")

// verdicts says of the nth call of an answer what becomes of it.
type verdicts func(n int) holdgate.Verdict

func all(int) holdgate.Verdict { return holdgate.Verdict{Release: true} }

func none(n int) holdgate.Verdict {
	return holdgate.Verdict{Notice: fmt.Sprintf("[gate] call %d was not run", n)}
}

// but refuses one call and releases the others.
func but(refused int) verdicts {
	return func(n int) holdgate.Verdict {
		if n == refused {
			return none(n)
		}
		return all(n)
	}
}

// run puts a stream through in pieces, and returns what came out and the calls.
func run(v verdicts, pieces ...[]byte) (out []byte, calls []holdgate.Call, err error) {
	st := (&openai.Codec{}).Stream()
	n := 0
	var joined, in []byte
	render := func(parts []wire.Part) {
		for _, p := range parts {
			joined = append(joined, p.Bytes...)
			verdict := holdgate.Verdict{Release: true}
			if p.Call != nil {
				calls = append(calls, *p.Call)
				verdict = v(n)
				n++
			}
			out = append(out, st.Render(p, verdict)...)
		}
	}
	for _, piece := range pieces {
		in = append(in, piece...)
		parts, err := st.Push(piece)
		render(parts)
		if err != nil {
			return out, calls, err
		}
	}
	parts, err := st.End()
	render(parts)
	if err == nil && !bytes.Equal(joined, in) {
		err = fmt.Errorf("the parts' bytes are not the stream:\n%s", joined)
	}
	return out, calls, err
}

func describe(calls []holdgate.Call) string {
	var b strings.Builder
	for _, c := range calls {
		fmt.Fprintf(&b, "%s %q", c.Tool.Name, c.ID)
		if c.Tool.Arguments != nil {
			fmt.Fprintf(&b, " object %s\n", c.Tool.Arguments)
		} else {
			fmt.Fprintf(&b, " text %q\n", c.Tool.ArgumentsRaw)
		}
	}
	return b.String()
}

// section returns a file of an archive, or nil.
func section(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func streams(t testing.TB) map[string]*txtar.Archive {
	t.Helper()
	paths, err := filepath.Glob("testdata/stream/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	archives := make(map[string]*txtar.Archive)
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		archives[path] = a
	}
	return archives
}

func TestRecordedStreams(t *testing.T) {
	for path, a := range streams(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			stream := section(a, "stream")
			released, calls, err := run(all, stream)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(stream), string(released)); diff != "" {
				t.Errorf("all released, but something changed:\n%s", diff)
			}
			got := []txtar.File{{Name: "stream", Data: stream}, {Name: "calls", Data: []byte(describe(calls))}}
			if len(calls) > 0 {
				out, _, err := run(none, stream)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, txtar.File{Name: "all refused", Data: out})
				if _, left, err := run(all, out); err != nil || len(left) > 0 {
					t.Errorf("all refused, but there are calls left: %s, %v", describe(left), err)
				}
			}
			for i := 0; i < len(calls) && len(calls) > 1; i++ {
				out, _, err := run(but(i), stream)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, txtar.File{Name: fmt.Sprintf("call %d refused", i), Data: out})
				want := append(append([]holdgate.Call(nil), calls[:i]...), calls[i+1:]...)
				_, left, err := run(all, out)
				if diff := cmp.Diff(describe(want), describe(left)); diff != "" || err != nil {
					t.Errorf("call %d refused: the others changed (%v):\n%s", i, err, diff)
				}
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(&txtar.Archive{Comment: a.Comment, Files: got}), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(a.Files, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhereAStreamIsCutMakesNoDifference(t *testing.T) {
	for path, a := range streams(t) {
		stream := section(a, "stream")
		_, calls, err := run(all, stream)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string]verdicts{"all": all, "none": none, "all but the first": but(0)} {
			step := 1 // every byte once, and enough of them for the other verdicts
			if name != "none" {
				step = 97
			}
			want, _, err := run(v, stream)
			if err != nil {
				t.Fatal(err)
			}
			check := func(how string, pieces ...[]byte) {
				out, got, err := run(v, pieces...)
				if err != nil || !bytes.Equal(out, want) || describe(got) != describe(calls) {
					t.Errorf("%s, %s released, cut %s: %v\n%s\n%s", path, name, how, err, describe(got), out)
				}
			}
			for i := 0; i < len(stream); i += step {
				check(fmt.Sprint("at ", i), stream[:i], stream[i:])
			}
			check("everywhere", bytes.SplitAfter(stream, nil)...)
		}
	}
}

func TestNothingOfACallFlowsBeforeItIsComplete(t *testing.T) {
	for path, a := range streams(t) {
		if len(section(a, "calls")) == 0 {
			continue
		}
		stream := section(a, "stream")
		st := (&openai.Codec{}).Stream()
		var flowed []byte
		for i := range stream {
			parts, err := st.Push(stream[i : i+1])
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				if p.Call != nil {
					flowed = nil
					break
				}
				flowed = append(flowed, p.Bytes...)
			}
			for _, mark := range []string{`"tool_calls":[{`, `"function_call":{"name":"shell"`} {
				if says := bytes.ReplaceAll(flowed, []byte(`"tool_calls":[{"index":1,"function":{"arguments":""}}]`), nil); bytes.Contains(says, []byte(mark)) {
					t.Fatalf("%s: %s flowed before its call", path, flowed)
				}
			}
		}
	}
}
