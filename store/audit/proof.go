package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/holdgate/holdgate/store"
)

// An Inclusion proves that an entry is in the log that a checkpoint states (RFC
// 6962, section 2.1.1).
type Inclusion struct {
	// Entry is the entry as it is stored. Retention may have dropped it; the
	// proof is then of its hash.
	Entry      json.RawMessage `json:"entry,omitempty"`
	Hash       string          `json:"hash"`   // the entry's, in hex
	Hashes     []tlog.Hash     `json:"hashes"` // the audit path, in base64
	Seq        uint64          `json:"seq"`    // of the entry; its leaf has the number before
	Checkpoint string          `json:"checkpoint"`
}

// A Consistency proves that the log that a checkpoint states begins with an
// earlier one (RFC 6962, section 2.1.2).
type Consistency struct {
	From       uint64      `json:"from"`   // how many entries the earlier one has
	Hashes     []tlog.Hash `json:"hashes"` // in base64
	Checkpoint string      `json:"checkpoint"`
}

// Inclusion proves an entry against the checkpoint of the first size entries,
// or of all where size is 0. The error wraps [ErrNoSuchEntry] where there is none.
func (l *Log) Inclusion(ctx context.Context, s *Signer, seq, size uint64) (p Inclusion, err error) {
	err = l.st.View(ctx, func(tx store.Tx) error {
		t, c, err := l.checkpoint(tx, s, size)
		if err != nil {
			return err
		}
		if seq == 0 || seq > c.Size {
			return fmt.Errorf("%w: %d is none of the %d of the checkpoint", ErrNoSuchEntry, seq, c.Size)
		}
		p = Inclusion{Seq: seq, Checkpoint: c.Text}
		if p.Entry, p.Hash, err = entryOrHash(tx, seq); err != nil {
			return err
		}
		hashes, err := tlog.ProveRecord(int64(c.Size), int64(seq-1), t)
		p.Hashes = hashes
		return err
	})
	return p, err
}

// entryOrHash reads an entry and its hash, or only that.
func entryOrHash(tx store.Tx, seq uint64) (line []byte, hash string, err error) {
	line, err = tx.Get(keyPrefix + store.Seq(seq))
	if err == nil {
		l, wrong := parseLine(line)
		if wrong != "" {
			return nil, "", &Fault{Seq: seq, What: wrong}
		}
		return line, l.hash, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, "", err
	}
	tile, err := readTile(tx, 0, (seq-1)/tileWidth)
	if err != nil {
		return nil, "", err
	}
	if tile == nil {
		return nil, "", &Fault{Seq: seq, What: "missing"}
	}
	return nil, fmt.Sprintf("%x", tile[(seq-1)%tileWidth][:]), nil
}

// Consistency proves that the log of the first to entries, or of all where to
// is 0, begins with that of the first from.
func (l *Log) Consistency(ctx context.Context, s *Signer, from, to uint64) (p Consistency, err error) {
	err = l.st.View(ctx, func(tx store.Tx) error {
		t, c, err := l.checkpoint(tx, s, to)
		if err != nil {
			return err
		}
		if from == 0 || from > c.Size {
			return fmt.Errorf("%w: the later log has %d, the earlier cannot have %d", ErrNoSuchEntry, c.Size, from)
		}
		hashes, err := tlog.ProveTree(int64(c.Size), int64(from), t)
		p = Consistency{From: from, Hashes: hashes, Checkpoint: c.Text}
		return err
	})
	return p, err
}

// ParseProof reads the JSON of a proof of either kind, and returns it as an
// [Inclusion] or a [Consistency]. Members that are not known, or come twice, are
// errors.
func ParseProof(text []byte) (any, error) {
	strict := jsonv2.RejectUnknownMembers(true)
	var c Consistency
	if err := jsonv2.Unmarshal(text, &c, strict); err == nil && c.From > 0 {
		return c, nil
	}
	var p Inclusion
	if err := jsonv2.Unmarshal(text, &p, strict); err != nil {
		return nil, fmt.Errorf("not a proof: %w", err)
	}
	if p.Seq == 0 {
		return nil, errors.New("not a proof: it names no entry")
	}
	return p, nil
}

// Check checks the proof with the log's public key and returns the checkpoint
// that it was held against.
func (p Inclusion) Check(key note.Verifier) (Checkpoint, error) {
	c, err := OpenCheckpoint(p.Checkpoint, key)
	if err != nil {
		return c, err
	}
	if p.Entry != nil {
		l, wrong := parseLine(p.Entry)
		switch {
		case wrong != "":
			return c, &Fault{Seq: p.Seq, What: wrong}
		case l.seq != p.Seq || l.hash != p.Hash:
			return c, &Fault{Seq: p.Seq, What: "not the entry that the proof names"}
		}
	}
	hash, err := rawHash(p.Hash)
	if err != nil {
		return c, err
	}
	if p.Seq == 0 || p.Seq > c.Size {
		return c, &Fault{Seq: p.Seq, What: fmt.Sprintf("not among the %d entries of the checkpoint", c.Size)}
	}
	if err := tlog.CheckRecord(p.Hashes, int64(c.Size), c.Root, int64(p.Seq-1), tlog.RecordHash(hash[:])); err != nil {
		return c, &Fault{Seq: p.Seq, What: "not in the log that the checkpoint states"}
	}
	return c, nil
}

// Check checks that the log begins with the one of the earlier checkpoint, and
// returns the later checkpoint.
func (p Consistency) Check(key note.Verifier, earlier Checkpoint) (Checkpoint, error) {
	c, err := OpenCheckpoint(p.Checkpoint, key)
	if err != nil {
		return c, err
	}
	if earlier.Size != p.From {
		return c, fmt.Errorf("the proof is from %d entries on, the earlier checkpoint has %d", p.From, earlier.Size)
	}
	if p.From == 0 || p.From > c.Size {
		return c, fmt.Errorf("the later checkpoint has %d entries, the earlier %d", c.Size, p.From)
	}
	if err := tlog.CheckTree(p.Hashes, int64(c.Size), c.Root, int64(p.From), earlier.Root); err != nil {
		return c, &Fault{What: fmt.Sprintf("the log was rewritten: its first %d entries are not those of the earlier checkpoint", p.From)}
	}
	return c, nil
}
