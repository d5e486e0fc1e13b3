package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/holdgate/holdgate/store"
)

// VerifyOptions says what a log is held against besides itself.
type VerifyOptions struct {
	// Head, where it is not zero, was noted when it was the newest entry. The
	// log must still contain it. This shows a cut tail and a rewritten chain.
	Head Head
	// Checkpoints, as of [OpenCheckpoints], must be of this log: it must begin
	// with the entries of each.
	Checkpoints []Checkpoint
	// Signed, where it is set, is asked about each entry that has a signature, in their
	// order. Its error is what is wrong with the entry.
	Signed func(Entry) error
}

// A Report says how far a log is in order.
type Report struct {
	Entries uint64 // how many are in order, from the first
	Last    Head   // the last of them
	// Dropped is how many of them, the first ones, are there by their hashes
	// alone, which retention accounts for.
	Dropped uint64
	// Root is that of the Merkle tree over them.
	Root tlog.Hash
}

// A Fault is the first thing found wrong with a log. It is an error.
type Fault struct {
	Seq  uint64 // the entry concerned; 0 where none can be named
	Line int    // its line in an export, from 1; 0 where the log is in a store
	What string
}

// Error names the entry and what is wrong with it.
func (f *Fault) Error() string {
	var where []string
	if f.Seq > 0 {
		where = append(where, fmt.Sprintf("entry %d", f.Seq))
	}
	if f.Line > 0 {
		where = append(where, fmt.Sprintf("line %d", f.Line))
	}
	if len(where) == 0 {
		return "audit log: " + f.What
	}
	return "audit log: " + strings.Join(where, ", ") + ": " + f.What
}

// maxLine is the length of the longest line that Verify reads, in bytes.
const maxLine = 256 << 20

// Verify reads an exported log to its first fault, which it returns as a
// [*Fault]; the report says what came before. Every line must be one entry.
func Verify(r io.Reader, o VerifyOptions) (Report, error) {
	c := newChain(o)
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return c.told(), fmt.Errorf("reading line %d of the audit log: %w", n, err)
		}
		if f := c.next(line); f != nil {
			f.Line = n
			return c.told(), f
		}
	}
	if f := c.finish(); f != nil {
		return c.told(), f
	}
	return c.told(), nil
}

// readLine returns a line without its end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("line of more than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0, err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		}
		return nil, err
	}
}

// Verify reads the whole log to its first fault, as the function Verify does,
// and holds it against the keyed head besides.
func (l *Log) Verify(ctx context.Context, o VerifyOptions) (report Report, err error) {
	err = l.st.View(ctx, func(tx store.Tx) error {
		c := newChain(o)
		defer func() { report = c.told() }()
		err := droppedLines(tx, func(line []byte) error {
			if f := c.next(line); f != nil {
				return f
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		for p, err := range tx.Scan(keyPrefix, "") {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			f := c.next(p.Value)
			if f == nil && p.Key != keyPrefix+store.Seq(c.report.Last.Seq) {
				f = &Fault{Seq: c.report.Last.Seq, What: fmt.Sprintf("stored in the wrong place, %s", p.Key)}
			}
			if f != nil {
				return f
			}
			if err := c.checkTile(tx); err != nil {
				return err
			}
		}
		head, err := l.head(tx)
		if err != nil {
			return err
		}
		if f := c.endAt(head); f != nil {
			return f
		}
		if f := c.finish(); f != nil {
			return f
		}
		return c.checkTree(tx)
	})
	return report, err
}

// chain follows a log entry by entry.
type chain struct {
	report  Report
	want    Head // a head noted elsewhere, or zero
	tree    frontier
	noted   []Checkpoint // those that are still to come, the smallest first
	proven  uint64       // entries of the last one that was right
	signed  func(Entry) error
	dropped uint64      // up to where the log itself says that entries were dropped
	tile    []tlog.Hash // hashes behind the last whole tile
}

func newChain(o VerifyOptions) *chain {
	noted := slices.Clone(o.Checkpoints)
	slices.SortStableFunc(noted, func(a, b Checkpoint) int { return cmp.Compare(a.Size, b.Size) })
	return &chain{want: o.Head, noted: noted, signed: o.Signed}
}

// told is the report so far.
func (c *chain) told() Report {
	c.report.Root = c.tree.root()
	return c.report
}

// checkTile compares the entries of a tile that has become whole with the
// stored one.
func (c *chain) checkTile(tx store.Tx) error {
	if len(c.tile) < tileWidth {
		return nil
	}
	n := c.report.Entries/tileWidth - 1
	stored, err := readTile(tx, 0, n)
	if err != nil {
		return err
	}
	if stored != nil && !slices.Equal(stored, c.tile) {
		return &Fault{Seq: n*tileWidth + 1, What: "not what the log's tree has: it or one of the 255 after it was replaced, or the tree was changed"}
	}
	return nil
}

// checkTree compares the stored tree with that of the entries.
func (c *chain) checkTree(tx store.Tx) error {
	root, err := newTree(tx, c.report.Entries).root()
	if err != nil {
		return err
	}
	if root != c.tree.root() {
		return &Fault{What: "the stored tree is not that of the entries"}
	}
	return nil
}

// next takes the next line and returns what is wrong with it, or nil.
func (c *chain) next(line []byte) *Fault {
	if d, ok := parseDropped(line); ok {
		return c.skip(d)
	}
	last := c.report.Last
	e, what := parseLine(line)
	if wrong := c.signature(line); wrong != "" {
		return &Fault{Seq: last.Seq + 1, What: wrong} // it says more than the hash
	}
	if what != "" {
		return &Fault{Seq: last.Seq + 1, What: what}
	}
	switch {
	case e.seq > last.Seq+1:
		return &Fault{Seq: last.Seq + 1, What: fmt.Sprintf("missing: entry %d stands in its place", e.seq)}
	case e.seq <= last.Seq:
		return &Fault{Seq: e.seq, What: fmt.Sprintf("stands after entry %d: it was moved or inserted", last.Seq)}
	case e.prev != last.Hash:
		return &Fault{Seq: e.seq, What: "does not continue the entry before it: one of the two was replaced"}
	case e.seq == c.want.Seq && e.hash != c.want.Hash:
		return &Fault{Seq: e.seq, What: "not the entry that the given head names: the log was rewritten"}
	}
	c.dropped = max(c.dropped, e.dropped)
	return c.add(Head{e.seq, e.hash})
}

// signature says what is wrong with an entry's signature, or nothing.
func (c *chain) signature(line []byte) string {
	if c.signed == nil || !bytes.Contains(line, []byte(`"signed":`)) {
		return ""
	}
	var e Entry
	if err := json.Unmarshal(line, &e); err != nil || e.Signed == nil {
		return ""
	}
	if err := c.signed(e); err != nil {
		return err.Error()
	}
	return ""
}

// skip takes entries of which there are only hashes: the first ones.
func (c *chain) skip(d dropped) *Fault {
	last := c.report.Last.Seq
	if d.From != last+1 || c.report.Dropped != last {
		return &Fault{Seq: last + 1, What: fmt.Sprintf("missing: hashes of entries from %d on stand in its place", d.From)}
	}
	for i, hash := range d.Hashes {
		seq := d.From + uint64(i)
		if seq == c.want.Seq && hash != c.want.Hash {
			return &Fault{Seq: seq, What: "not the entry that the given head names: the log was rewritten"}
		}
		c.report.Dropped = seq
		if f := c.add(Head{seq, hash}); f != nil {
			return f
		}
	}
	return nil
}

// add adds an entry to the tree, and compares it with a checkpoint that ends
// with it.
func (c *chain) add(entry Head) *Fault {
	hash, err := rawHash(entry.Hash)
	if err != nil {
		return &Fault{Seq: entry.Seq, What: err.Error()}
	}
	c.report.Entries++
	c.report.Last = entry
	c.tree.add(hash)
	if len(c.tile) == tileWidth {
		c.tile = c.tile[:0]
	}
	c.tile = append(c.tile, hash)
	for len(c.noted) > 0 && c.noted[0].Size <= c.tree.size {
		if p := c.noted[0]; p.Size == c.tree.size && p.Root != c.tree.root() {
			return &Fault{Seq: c.proven + 1, What: fmt.Sprintf("the log was rewritten: it or one up to %d is not what the checkpoint of %d entries has", p.Size, p.Size)}
		}
		c.proven = c.noted[0].Size
		c.noted = c.noted[1:]
	}
	return nil
}

// finish returns a fault where the log ends before the head noted elsewhere.
func (c *chain) finish() *Fault {
	if last := c.report.Last.Seq; last < c.want.Seq {
		return &Fault{Seq: last + 1, What: fmt.Sprintf("missing: the log ends here, the given head is at %d", c.want.Seq)}
	}
	if n := len(c.noted); n > 0 && c.noted[n-1].Size > c.report.Last.Seq {
		return &Fault{Seq: c.report.Last.Seq + 1, What: fmt.Sprintf("missing: the log ends here, the given checkpoint has %d entries", c.noted[n-1].Size)}
	}
	if c.report.Dropped > c.dropped {
		return &Fault{Seq: c.dropped + 1, What: fmt.Sprintf("missing: there are only hashes of it and of those up to %d, and no entry says that they were dropped", c.report.Dropped)}
	}
	return nil
}

// endAt returns a fault where the log does not end with the stored head.
func (c *chain) endAt(head Head) *Fault {
	switch last := c.report.Last; {
	case last.Seq < head.Seq:
		return &Fault{Seq: last.Seq + 1, What: fmt.Sprintf("missing: the log ends here, its head is at %d", head.Seq)}
	case last.Seq > head.Seq:
		return &Fault{Seq: head.Seq + 1, What: fmt.Sprintf("stands after the head, which is at %d", head.Seq)}
	case last != head:
		return &Fault{Seq: last.Seq, What: "not the entry that the head names"}
	}
	return nil
}

// links are what a line says of its place in the chain.
type links struct {
	seq        uint64
	prev, hash string
	dropped    uint64 // what a retention entry says
}

// parseLine reads a line and checks its hash. It says what is wrong with it,
// or nothing.
func parseLine(line []byte) (l links, wrong string) {
	var m struct {
		Seq     *uint64 `json:"seq"`
		Prev    *string `json:"prev_hash"`
		Hash    *string `json:"hash"`
		Type    Type    `json:"type"`
		Dropped uint64  `json:"dropped"`
	}
	if !jsontext.Value(line).IsValid() {
		return links{}, "not one JSON value with every key once"
	}
	if err := jsonv2.Unmarshal(line, &m); err != nil || m.Seq == nil || m.Prev == nil || m.Hash == nil {
		return links{}, "not an entry: it needs seq, prev_hash and hash"
	}
	body, err := unhash(line)
	if err != nil || hashOf(body) != *m.Hash {
		return links{}, "changed: its hash is not that of its content"
	}
	if m.Type != TypeRetention {
		m.Dropped = 0
	}
	return links{*m.Seq, *m.Prev, *m.Hash, m.Dropped}, ""
}
