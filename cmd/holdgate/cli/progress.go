package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// everySoOften is how often a progress is shown.
const everySoOften = 200 * time.Millisecond

// A progress tells a person on a terminal how far a long command is. It is gone
// from the screen once it has ended.
type progress struct {
	w     io.Writer // nil where nobody looks
	what  string
	n     uint64
	shown time.Time
}

// progress begins one on standard error, of what is counted.
func (e *env) progress(what string) *progress {
	p := &progress{what: what}
	if f, ok := e.stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) && e.getenv("TERM") != "dumb" {
		p.w = f
	}
	return p
}

// add counts on.
func (p *progress) add(n uint64) {
	p.n += n
	if now := time.Now(); p.w != nil && now.Sub(p.shown) > everySoOften {
		p.shown = now
		fmt.Fprintf(p.w, "\r\x1b[K%d %s", p.n, p.what)
	}
}

// end takes it off the screen.
func (p *progress) end() {
	if p.w != nil && !p.shown.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// A watchedReader counts lines that are read, and ends when its context does.
type watchedReader struct {
	ctx context.Context
	r   io.Reader
	p   *progress
}

func (w watchedReader) Read(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.r.Read(b)
	lines := uint64(0)
	for _, c := range b[:n] {
		if c == '\n' {
			lines++
		}
	}
	w.p.add(lines)
	return n, err
}
