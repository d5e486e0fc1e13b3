package stdio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/proxy/wire"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 100)
	tests := []struct {
		name, text string
		want       []string // "!" for a line that was too long
	}{
		{"nothing", "", nil},
		{"lines as they came", "a\n\n b \r\n", []string{"a", "", " b \r"}},
		{"a last line without an end", "a\nb", []string{"a", "b"}},
		{"a line that is just short enough", long + "\nb\n", []string{long, "b"}},
		{"a line that is too long is passed over", "a\n" + long + "x\nb\n", []string{"a", "!", "b"}},
		{"a last one too", "a\n" + long + "x", []string{"a", "!"}},
	}
	for _, tt := range tests {
		for _, r := range []io.Reader{strings.NewReader(tt.text), iotest.OneByteReader(strings.NewReader(tt.text))} {
			if diff := cmp.Diff(tt.want, readLines(t, stdio.NewLines(r, len(long)))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
	}
}

func readLines(t *testing.T, lines *stdio.Lines) (all []string) {
	t.Helper()
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return all
		case errors.Is(err, wire.ErrTooLarge):
			all = append(all, "!")
		case err != nil:
			t.Fatal(err)
		default:
			all = append(all, string(line))
		}
	}
}

func TestALineThatIsSeveralToSomeIsFound(t *testing.T) {
	for line, want := range map[string]error{
		"": nil, "a": nil, "a\r": nil, "a\r\r": nil,
		"\ra": stdio.ErrTwoLines, "a\rb": stdio.ErrTwoLines, "a\rb\r": stdio.ErrTwoLines,
	} {
		if err := stdio.Check([]byte(line)); !errors.Is(err, want) {
			t.Errorf("%q: %v", line, err)
		}
	}
	if got := string(stdio.Line([]byte("{\r\"a\":1}\r"))); stdio.Check([]byte(got)) != nil {
		t.Errorf("got %q", got)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n\nb\r\nc"), uint16(10))
	f.Add([]byte("a\n"+strings.Repeat("y", 70_000)+"\nb"), uint16(65_535))
	f.Fuzz(func(t *testing.T, text []byte, limit uint16) {
		var want []string
		for line := range bytes.Lines(text) {
			s := strings.TrimSuffix(string(line), "\n")
			if len(s) > int(limit) {
				s = "!"
			}
			want = append(want, s)
		}
		if diff := cmp.Diff(want, readLines(t, stdio.NewLines(bytes.NewReader(text), int(limit)))); diff != "" && !strings.Contains(string(text), "!") {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// streams returns both ends of a stream over a real socket.
func streams(t *testing.T) (mcp, sidecar *stdio.Conn) {
	t.Helper()
	accepted := make(chan *stdio.Conn, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !stdio.Asked(r) || r.URL.Path != stdio.Path+"files" || r.URL.Query().Get(stdio.CommandParam) != "abc" || r.URL.Query().Get(stdio.ProcessParam) != "p1" {
			http.Error(w, "not today", http.StatusTeapot)
			return
		}
		c, err := stdio.Accept(w)
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}))
	t.Cleanup(srv.Close)
	mcp, err := stdio.Dial(t.Context(), srv.Listener.Addr().String(), "files", "abc", "p1", nil)
	if err != nil {
		t.Fatal(err)
	}
	sidecar = <-accepted
	t.Cleanup(func() { _, _ = mcp.Close(), sidecar.Close() })
	return mcp, sidecar
}

func TestFramesComeAsTheyWereWritten(t *testing.T) {
	mcp, sidecar := streams(t)
	frames := []stdio.Frame{
		{Kind: stdio.Client, Seq: 1, Line: []byte(`{"a": 1}`)},
		{Kind: stdio.Server, Seq: 1 << 60, Line: []byte{}},
		{Kind: stdio.ServerEnd, Seq: 3, Line: bytes.Repeat([]byte("x"), 100_000)},
	}
	for _, pair := range [][2]*stdio.Conn{{mcp, sidecar}, {sidecar, mcp}} {
		go func() {
			for _, f := range frames {
				if err := pair[0].Write(f); err != nil {
					t.Error(err)
				}
			}
		}()
		for _, want := range frames {
			got, err := pair[1].Read(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		}
	}
}

func TestALineThatIsTooLongIsPassedOver(t *testing.T) {
	mcp, sidecar := streams(t)
	go func() {
		for seq, n := range []int{5, 11, 10} {
			_ = mcp.Write(stdio.Frame{Kind: stdio.Client, Seq: uint64(seq), Line: bytes.Repeat([]byte("x"), n)})
		}
		_ = mcp.Close()
	}()
	for seq, n := range []int{5, 0, 10} {
		f, err := sidecar.Read(10)
		if f.Seq != uint64(seq) || len(f.Line) != n || (n == 0) != errors.Is(err, wire.ErrTooLarge) {
			t.Errorf("frame %d: %d bytes, %v", f.Seq, len(f.Line), err)
		}
	}
	if _, err := sidecar.Read(10); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestDialSaysWhyThereIsNoStream(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "not today", http.StatusConflict) }))
	defer srv.Close()
	_, err := stdio.Dial(t.Context(), srv.Listener.Addr().String(), "files", "", "", nil)
	if refused, ok := errors.AsType[*stdio.RefusedError](err); !ok || refused.Status != http.StatusConflict || !strings.Contains(err.Error(), "not today") {
		t.Errorf("got %v", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0") // takes the connection and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if c, err := ln.Accept(); err == nil {
			cancel()
			_, _ = io.Copy(io.Discard, c)
		}
	}()
	if _, err := stdio.Dial(ctx, ln.Addr().String(), "files", "", "", nil); err == nil {
		t.Error("a stream from nobody")
	}
}
