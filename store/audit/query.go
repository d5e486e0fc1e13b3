package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/holdgate/holdgate/store"
)

// Query selects entries; zero fields select all.
type Query struct {
	RequestID string
	Exchange  string
	Type      Type
	Agent     string
	Session   string
	Tool      string    // its name, or an MCP method
	Rule      string    // that decided
	Action    string    // that was decided: allow, hold or deny
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
		(q.Agent == "" || q.Agent == c.Agent) &&
		(q.Session == "" || q.Session == c.Session) &&
		(q.Tool == "" || c.Tool != nil && q.Tool == c.Tool.Name || q.Tool == c.MCP) &&
		(q.Rule == "" || e.Decision != nil && q.Rule == e.Decision.Rule) &&
		(q.Action == "" || e.Decision != nil && q.Action == e.Decision.Action.String()) &&
		(q.Since.IsZero() || !e.Time.Before(q.Since)) &&
		(q.Until.IsZero() || e.Time.Before(q.Until))
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
	n, text := 0, bytes.ToLower([]byte(q.Text))
	return l.lines(ctx, q.From, func(line []byte) error {
		if len(text) > 0 && !bytes.Contains(bytes.ToLower(line), text) {
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
	})
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
	if err = errors.Join(err, out.Flush()); err != nil {
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
