package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// How often a progress is shown, on a terminal and, where it is shown, in a file.
const (
	everySoOften = 200 * time.Millisecond
	inFiles      = 10 * time.Second
)

// A Progress tells a person on a terminal how far a long command is. It is gone
// from the screen once it has ended.
type Progress struct {
	w     io.Writer // nil where nobody looks
	file  io.Writer // what is no terminal; takes what [Progress.Show] says
	what  string
	n     uint64
	shown time.Time
}

// Progress begins one on standard error, of what is counted.
func (e *Env) Progress(what string) *Progress {
	p := &Progress{what: what, file: e.Stderr}
	if f, ok := e.Stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) && e.Getenv("TERM") != "dumb" {
		p.w = f
	}
	return p
}

// Add counts on.
func (p *Progress) Add(n uint64) {
	p.n += n
	if now := time.Now(); p.w != nil && now.Sub(p.shown) > everySoOften {
		p.shown = now
		fmt.Fprintf(p.w, "\r\x1b[K%d %s", p.n, p.what)
	}
}

// Show says in a line what is done now, where it is not counted. In a file, too, from
// time to time: what takes minutes is to look as if it were going on there as well.
func (p *Progress) Show(now string) {
	switch {
	case p.w != nil:
		p.shown = time.Now()
		fmt.Fprint(p.w, "\r\x1b[K"+now)
	case p.file != nil && time.Since(p.shown) > inFiles:
		p.shown = time.Now()
		fmt.Fprintln(p.file, now)
	}
}

// Done takes it off the screen.
func (p *Progress) Done() {
	if p.w != nil && !p.shown.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// Reader reads from r, counts the lines, and ends when ctx does.
func (p *Progress) Reader(ctx context.Context, r io.Reader) io.Reader {
	return watchedReader{ctx, r, p}
}

// A watchedReader counts lines that are read, and ends when its context does.
type watchedReader struct {
	ctx context.Context
	r   io.Reader
	p   *Progress
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
	w.p.Add(lines)
	return n, err
}
