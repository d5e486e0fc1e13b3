package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdgate/holdgate/store"
)

// Query selects entries; zero fields select all.
type Query struct {
	RequestID string
	Exchange  string
	Type      Type
	Agent     string // its name, or what its program calls itself
	Session   string
	Tool      string    // its name, or an MCP method
	Rule      string    // that decided
	Member    string    // that wrote the entry
	Action    string    // that was decided, or would have been if more had been enforced: allow, hold or deny
	Since     time.Time // entries of then and later
	Until     time.Time // entries of before
	Text      string    // that an entry has anywhere, in any case
	From      uint64    // first sequence number
	Limit     int       // how many at most; 0 for all
}

func (q Query) matches(e Entry) bool {
	var c Call
	if e.Call != nil {
		c = *e.Call
	}
	return (q.RequestID == "" || q.RequestID == e.RequestID) &&
		(q.Exchange == "" || q.Exchange == e.Exchange) &&
		(q.Type == "" || q.Type == e.Type) &&
		(q.Agent == "" || q.Agent == c.Agent || q.Agent == c.Program) &&
		(q.Session == "" || q.Session == c.Session) &&
		(q.Tool == "" || c.Tool != nil && q.Tool == c.Tool.Name || q.Tool == c.MCP) &&
		(q.Member == "" || q.Member == e.Member) &&
		(q.Rule == "" || e.Decision != nil && q.Rule == e.Decision.Rule) &&
		(q.Action == "" || e.Decision != nil && e.Decision.is(q.Action)) &&
		e.Seq >= q.From &&
		(q.Since.IsZero() || !e.Time.Before(q.Since)) &&
		(q.Until.IsZero() || e.Time.Before(q.Until))
}

// marks are texts that the line of each entry has that q selects. To look for them is
// much cheaper than to read the entry.
func (q Query) marks() (marks [][]byte) {
	for _, v := range []string{q.RequestID, q.Exchange, string(q.Type), q.Agent, q.Session, q.Tool, q.Rule, q.Member} {
		if v != "" && !strings.ContainsFunc(v, spelledSomehow) {
			marks = append(marks, []byte(`"`+v+`"`))
		}
	}
	return marks
}

// spelledSomehow reports whether a character has more than one spelling in JSON as
// earlier versions wrote it.
func spelledSomehow(c rune) bool {
	return c < ' ' || c > '~' || strings.ContainsRune(`"\<>&`, c)
}

func containsAll(line []byte, marks [][]byte) bool {
	for _, m := range marks {
		if !bytes.Contains(line, m) {
			return false
		}
	}
	return true
}

// is reports whether an action was decided, or would have been.
func (d *Decision) is(action string) bool {
	return action == d.Action.String() || d.Would != nil && action == d.Would.String()
}

// Query returns the entries that q selects, in order.
func (l *Log) Query(ctx context.Context, q Query) ([]Entry, error) {
	var list []Entry
	err := l.Each(ctx, q, func(e Entry) error {
		list = append(list, e)
		return nil
	})
	return list, err
}

// Each calls fn for each entry that q selects, in order, until fn returns an
// error, which it returns. All are of the moment at which it began.
func (l *Log) Each(ctx context.Context, q Query, fn func(Entry) error) error {
	return l.lines(ctx, q.From, q.each(fn))
}

// Select calls fn for each entry of an exported log that q selects, in order, until fn
// returns an error, which it returns. It verifies nothing.
func Select(ctx context.Context, export io.Reader, q Query, fn func(Entry) error) error {
	in, each := bufio.NewReaderSize(export, 64<<10), q.each(fn)
	for n := 1; ; n++ {
		line, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			err = ctx.Err()
		}
		if _, dropped := parseDropped(line); err == nil && !dropped {
			err = each(line)
		}
		if errors.Is(err, errStop) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading line %d of the exported log: %w", n, err)
		}
	}
}

// each calls fn with the entry of a line, if q selects it, and ends with errStop.
func (q Query) each(fn func(Entry) error) func(line []byte) error {
	n, text, marks := 0, bytes.ToLower([]byte(q.Text)), q.marks()
	return func(line []byte) error {
		if len(text) > 0 && !bytes.Contains(bytes.ToLower(line), text) || !containsAll(line, marks) {
			return nil
		}
		e, err := decode(line)
		if err != nil || !q.matches(e) {
			return err
		}
		if err := fn(e); err != nil {
			return err
		}
		if n++; n == q.Limit {
			return errStop
		}
		return nil
	}
}

// Export writes every entry as one JSON object a line, in order, as it is
// stored, and for entries that were dropped lines with their hashes; [Verify]
// reads that.
func (l *Log) Export(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriter(w)
	err := l.st.View(ctx, func(tx store.Tx) error {
		put := func(line []byte) error {
			_, err := out.Write(append(line, '\n'))
			return errors.Join(err, ctx.Err())
		}
		if err := droppedLines(tx, put); err != nil {
			return err
		}
		for p, err := range tx.Scan(keyPrefix, "") {
			if err != nil {
				return err
			}
			if err := put(p.Value); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = out.Flush() // else what is left unsaid says nothing was wrong
	}
	if err != nil {
		return fmt.Errorf("exporting the audit log: %w", err)
	}
	return nil
}

// errStop ends lines early without being an error of its own.
var errStop = errors.New("enough")

// lines calls fn for each stored line from the given number on.
func (l *Log) lines(ctx context.Context, from uint64, fn func(line []byte) error) error {
	err := l.st.View(ctx, func(tx store.Tx) error {
		for p, err := range tx.Scan(keyPrefix, keyPrefix+store.Seq(from)) {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			if err := fn(p.Value); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// At is the number of about the first entry of a time or later, for [Query.From]: the
// log is searched by halves, for which its times must not go back. Zero is the
// beginning.
func (l *Log) At(ctx context.Context, t time.Time) (uint64, error) {
	var first uint64
	err := l.st.View(ctx, func(tx store.Tx) error {
		head, err := l.head(tx)
		if err != nil {
			return err
		}
		low, high := uint64(0), head.Seq
		for low < high {
			mid := low + (high-low)/2
			at, err := timeOf(tx, mid)
			if err != nil {
				return err
			}
			if at.Before(t) {
				low = mid + 1
			} else {
				high = mid
			}
		}
		first = low
		return nil
	})
	return first, err
}

// timeOf is when the entry of the number, or the next that is kept, was written; zero
// where there is none.
func timeOf(tx store.Tx, seq uint64) (time.Time, error) {
	for p, err := range tx.Scan(keyPrefix, keyPrefix+store.Seq(seq)) {
		if err != nil {
			return time.Time{}, err
		}
		e, err := decode(p.Value)
		return e.Time, err
	}
	return time.Time{}, nil
}
