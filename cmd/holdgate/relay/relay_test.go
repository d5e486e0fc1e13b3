package relay

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pipe is one whose ends are closed with the test.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

// newSidecar serves streams, each to be answered by the test, and returns how one is opened.
func newSidecar(t *testing.T) (streams <-chan *stdio.Conn, connect func(context.Context) (*stdio.Conn, error)) {
	t.Helper()
	opened := make(chan *stdio.Conn, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := stdio.Accept(w)
		if err != nil || !stdio.Asked(r) {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
		opened <- conn
	}))
	t.Cleanup(s.Close)
	return opened, func(ctx context.Context) (*stdio.Conn, error) {
		return stdio.Dial(ctx, strings.TrimPrefix(s.URL, "http://"), "files", "c", "p", nil)
	}
}

// A frame is one with its line as a text.
type frame struct {
	kind stdio.Kind
	seq  uint64
	line string
}

func reads(t *testing.T, c *stdio.Conn) frame {
	t.Helper()
	f, err := c.Read(stdio.MaxLine)
	must(t, err)
	return frame{f.Kind, f.Seq, string(f.Line)}
}

func writes(t *testing.T, c *stdio.Conn, f frame) {
	t.Helper()
	must(t, c.Write(stdio.Frame{Kind: f.kind, Seq: f.seq, Line: []byte(f.line)}))
}

// What either side writes passes as the sidecar says. Where a stream breaks, what is not
// over comes again on the next one, and a line that was sent on says so.
func TestAServerBehindAStreamThatBreaks(t *testing.T) {
	streams, connect := newSidecar(t)
	in, client := pipe(t)
	answers, out := pipe(t)
	ended := make(chan int, 1)
	go func() {
		code, err := Run(context.Background(), Options{
			Program: "/bin/sh", Args: []string{"-c", `echo "up $HOLDGATE_TOKEN"; while read -r line; do echo "got $line"; done; exit 7`},
			Env: append(os.Environ(), "HOLDGATE_TOKEN=secret"), Stdin: in, Stdout: out, Stderr: os.Stderr, Connect: connect, Tell: func(string) {},
		})
		if err != nil {
			t.Error(err)
		}
		ended <- code
	}()
	lines := bufio.NewScanner(answers)
	hears := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("the client hears %q (%v), want %q", lines.Text(), lines.Err(), want)
		}
	}
	is := func(got, want frame) {
		t.Helper()
		if got != want {
			t.Errorf("the sidecar is told %+v, want %+v", got, want)
		}
	}

	first := <-streams
	is(reads(t, first), frame{stdio.Server, 1, "up "}) // nothing of Holdgate's is in its environment
	writes(t, first, frame{stdio.Client, 1, "up, as the sidecar says"})
	writes(t, first, frame{stdio.Done, 1, ""})
	hears("up, as the sidecar says")
	for _, line := range []string{"a", "b"} {
		_, err := io.WriteString(client, line+"\n")
		must(t, err)
	}
	is(reads(t, first), frame{stdio.Client, 2, "a"})
	is(reads(t, first), frame{stdio.Client, 3, "b"})
	writes(t, first, frame{stdio.Server, 2, "a, judged"})
	is(reads(t, first), frame{stdio.Server, 4, "got a, judged"})
	must(t, first.Close())

	second := <-streams
	is(reads(t, second), frame{stdio.ClientSent, 2, "a"})
	is(reads(t, second), frame{stdio.Client, 3, "b"})
	is(reads(t, second), frame{stdio.Server, 4, "got a, judged"})
	writes(t, second, frame{stdio.Client, 4, "got a, judged"})
	for _, seq := range []uint64{2, 3, 4} {
		writes(t, second, frame{stdio.Done, seq, ""})
	}
	hears("got a, judged")
	must(t, client.Close())
	is(reads(t, second), frame{stdio.ClientEnd, 5, ""})
	writes(t, second, frame{stdio.ClientEnd, 5, ""})
	is(reads(t, second), frame{stdio.ServerEnd, 6, ""})
	writes(t, second, frame{stdio.ServerEnd, 6, ""})
	if code := <-ended; code != 7 {
		t.Errorf("it ended with %d, want the server's own 7", code)
	}
}

// Without a sidecar at the beginning the server is not started.
func TestNothingIsStartedWithoutASidecar(t *testing.T) {
	t.Parallel()
	none := errors.New("there is none")
	_, err := Run(t.Context(), Options{Program: "/does/not/exist", Connect: func(context.Context) (*stdio.Conn, error) { return nil, none }})
	if !errors.Is(err, none) {
		t.Errorf("got %v", err)
	}
}

const refusal = "sidecar, which decides about it, cannot be reached (gone)"

// While there is no sidecar, what the client asks is refused in words that a model can
// read; what the server says waits, and what was sent on is waited for.
func TestWhatIsRefusedWithoutASidecar(t *testing.T) {
	t.Parallel()
	call := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"t"}}`
	}
	for _, tt := range []struct {
		name    string
		lines   []frame // before it is given up; the seq of one that was sent on is 1
		refused []string
		waits   []frame // for the next sidecar
		goesOn  bool
	}{
		{"a call", []frame{{stdio.Client, 0, call("1")}}, []string{`"id":1`}, nil, true},
		{"calls, in their order", []frame{{stdio.Client, 0, call("1")}, {stdio.Client, 0, call("2")}}, []string{`"id":1`, `"id":2`}, nil, true},
		{"a batch", []frame{{stdio.Client, 0, "[" + call("1") + "," + call("2") + "]"}}, []string{`"id":1`, `"id":2`}, nil, true},
		{"a notice", []frame{{stdio.Client, 0, `{"jsonrpc":"2.0","method":"notifications/x"}`}}, nil, nil, true},
		{"what cannot be read", []frame{{stdio.Client, 0, "{"}}, nil, nil, true},
		{"a call that was sent on", []frame{{stdio.Client, 1, call("1")}}, nil, []frame{{stdio.ClientSent, 1, call("1")}}, true},
		{"what the server says", []frame{{stdio.Server, 0, "news"}}, nil, []frame{{stdio.Server, 1, "news"}}, true},
		{"the server's end", []frame{{stdio.ServerEnd, 0, ""}}, nil, []frame{{stdio.ServerEnd, 1, ""}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, stdin := pipe(t)
			out, _ := pipe(t)
			answers, stdout := pipe(t)
			l := newLink(Options{Stdout: stdout, Tell: func(string) {}}, stdin, out)
			for i, f := range tt.lines {
				l.up(stdio.Frame{Kind: f.kind, Line: []byte(f.line)})
				l.open[uint64(i+1)].sent = f.seq == 1
			}
			if goesOn := l.giveUp(errors.New("gone")); goesOn != tt.goesOn {
				t.Errorf("it goes on: %t", goesOn)
			}
			l.up(stdio.Frame{Kind: stdio.Client, Line: []byte(call("9"))}) // asked when it was given up already
			streams, connect := newSidecar(t)
			conn, err := connect(t.Context())
			must(t, err)
			l.resend(conn)
			must(t, conn.Close())
			there := <-streams
			var waits []frame
			for {
				f, err := there.Read(stdio.MaxLine)
				if err != nil {
					break
				}
				waits = append(waits, frame{f.Kind, f.Seq, string(f.Line)})
			}
			if d := cmp.Diff(tt.waits, waits, cmp.AllowUnexported(frame{})); d != "" {
				t.Errorf("the next sidecar is told (-want +got):\n%s", d)
			}
			l.toServer.close()
			l.toClient.close()
			b, err := io.ReadAll(answers)
			must(t, err)
			said := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
			want := append(tt.refused, `"id":9`)
			if len(said) != len(want) {
				t.Fatalf("the client hears %q, want %d refusals", said, len(want))
			}
			for i, text := range said {
				if !strings.Contains(text, want[i]) || !strings.Contains(text, refusal) {
					t.Errorf("the client hears %s, want a refusal of %s", text, want[i])
				}
			}
		})
	}
}

// A client that reads no more keeps nobody waiting, and is noticed once.
func TestWhoReadsNoMoreIsNoticed(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	failed := make(chan struct{})
	o := newOutbox(w, func() { close(failed) })
	o.put([]byte("a"))
	b := make([]byte, 2)
	_, err := io.ReadFull(r, b)
	must(t, err)
	must(t, r.Close())
	o.put([]byte("b"))
	<-failed
	for range 3 {
		o.put([]byte("c"))
	}
	o.close()
	if string(b) != "a\n" {
		t.Errorf("it read %q", b)
	}
}

// What is written comes whole and in order, however slowly it is read.
func TestASlowReaderGetsAll(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	o := newOutbox(w, func() { t.Error("it failed") })
	const n = 100
	line := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), 10_000) } // a pipe takes six of them
	go func() {
		for i := range n {
			o.put([]byte(line(i)))
		}
		o.closeWhenWritten()
	}()
	lines := bufio.NewReader(r)
	for i := range n {
		if got, err := lines.ReadString('\n'); err != nil || got != line(i)+"\n" {
			t.Fatalf("line %d has %d bytes: %v", i, len(got), err)
		}
	}
	if _, err := lines.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("afterwards: %v", err)
	}
	o.close()
}
