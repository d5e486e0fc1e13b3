package e2e_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// A terminal is a person's, with a command in it. It answers what programs ask of
// terminals.
type terminal struct {
	t     *testing.T
	pty   *os.File
	cmd   *exec.Cmd
	ended chan struct{}

	mu    sync.Mutex
	shown []byte
	from  int // what is before it was looked at
}

// inTerminal starts a command in a terminal. It ends with the test.
func inTerminal(t *testing.T, build func(ctx context.Context) *exec.Cmd) *terminal {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	tm := &terminal{t: t, cmd: build(ctx), ended: make(chan struct{})}
	var err error
	if tm.pty, err = pty.StartWithSize(tm.cmd, &pty.Winsize{Rows: 60, Cols: 140}); err != nil {
		cancel()
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(tm.read)
	go func() { _ = tm.cmd.Wait(); close(tm.ended) }()
	t.Cleanup(func() {
		cancel()
		<-tm.ended
		reading.Wait() // its last program has left the terminal
		_ = tm.pty.Close()
	})
	return tm
}

// asked are what programs ask of a terminal, and what it says: where its cursor is,
// and what sort of terminal it is.
var asked = map[string]string{"\x1b[6n": "\x1b[1;1R", "\x1b[c": "\x1b[?62;22c"}

func (tm *terminal) read() {
	buf := make([]byte, 32<<10)
	for {
		n, err := tm.pty.Read(buf)
		tm.mu.Lock()
		tm.shown = append(tm.shown, buf[:n]...)
		tm.mu.Unlock()
		for question, answer := range asked {
			for range bytes.Count(buf[:n], []byte(question)) {
				_, _ = tm.pty.WriteString(answer) // whoever asked may have gone
			}
		}
		if err != nil {
			return
		}
	}
}

// escapes are what moves the cursor, sets colours and titles.
var escapes = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)|[()][A-Za-z0-9]|[ -~])")

// flat is text without its blanks: many programs move the cursor instead of writing
// them.
func flat(text string) string { return strings.ReplaceAll(text, " ", "") }

// text is all that was shown, flat, without what only moves and colours it.
func (tm *terminal) text() string {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	return flat(escapes.ReplaceAllString(string(tm.shown), ""))
}

// sees waits until one of the words is shown, behind what was seen before, and
// returns what was shown up to it, flat.
func (tm *terminal) sees(words ...string) (text string) {
	tm.t.Helper()
	until(tm.t, strings.Join(words, " or ")+" on the terminal", func() bool {
		fresh, first, end := tm.text()[tm.from:], -1, 0
		for _, w := range words {
			if i := strings.Index(fresh, flat(w)); i >= 0 && (first < 0 || i < first) {
				first, end = i, i+len(flat(w))
			}
		}
		if first >= 0 {
			text, tm.from = fresh[:end], tm.from+end
			return true
		}
		select {
		case <-tm.ended:
			tm.t.Fatalf("it ended, and shows %s", fresh)
		default:
		}
		return false
	})
	return text
}

// types types at once.
func (tm *terminal) types(text string) {
	tm.t.Helper()
	if _, err := tm.pty.WriteString(text); err != nil {
		tm.t.Fatal(err)
	}
}

// answers types an answer once the question has stood for as long as nothing is
// taken for one, and Enter.
func (tm *terminal) answers(line string) {
	tm.t.Helper()
	tm.sees("then Enter: ")
	<-time.After(800 * time.Millisecond)
	tm.types(line + "\r")
}
