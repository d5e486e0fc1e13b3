package audit

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/holdgate/holdgate/store"
)

// A Checkpoint is a log's signed statement of all its entries at one time: how
// many they are, and the root of the tree over them (c2sp.org/tlog-checkpoint).
type Checkpoint struct {
	Origin string    // the log's name, which is its key's
	Size   uint64    // entries
	Root   tlog.Hash // RFC 6962, section 2.1
	// Text is the signed note (c2sp.org/signed-note), the form that is kept and
	// sent.
	Text string
}

// A Signer signs checkpoints with an Ed25519 key. It is safe for concurrent
// use.
type Signer struct {
	key      ed25519.PrivateKey
	public   string
	verifier note.Verifier
}

// NewSigner returns the signer with a key of so many secret bytes
// ([ed25519.SeedSize]). The log's name is made of the public key.
func NewSigner(seed []byte) (*Signer, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("the key of checkpoints has %d bytes, want %d", len(seed), ed25519.SeedSize)
	}
	key := ed25519.NewKeyFromSeed(seed)
	public := key.Public().(ed25519.PublicKey)
	sum := sha256.Sum256(public)
	text, err := note.NewEd25519VerifierKey("holdgate/"+hex.EncodeToString(sum[:8]), public)
	if err != nil {
		return nil, err
	}
	v, err := note.NewVerifier(text)
	if err != nil {
		return nil, err
	}
	return &Signer{key, text, v}, nil
}

// Public is the public key, in the form that [note.NewVerifier] reads:
// "NAME+HASH+KEY".
func (s *Signer) Public() string { return s.public }

// Name implements [note.Signer].
func (s *Signer) Name() string { return s.verifier.Name() }

// KeyHash implements [note.Signer].
func (s *Signer) KeyHash() uint32 { return s.verifier.KeyHash() }

// Sign implements [note.Signer].
func (s *Signer) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(s.key, msg), nil }

// checkpoint signs the statement that the tree over so many entries has this
// root.
func (s *Signer) checkpoint(size uint64, root tlog.Hash) (Checkpoint, error) {
	text, err := note.Sign(&note.Note{Text: s.Name() + "\n" + strconv.FormatUint(size, 10) + "\n" + root.String() + "\n"}, s)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("signing a checkpoint: %w", err)
	}
	return Checkpoint{Origin: s.Name(), Size: size, Root: root, Text: string(text)}, nil
}

// ErrNoSuchEntry says that the log does not reach as far as it was asked about.
var ErrNoSuchEntry = errors.New("the audit log has no such entry")

// Checkpoint signs the tree of the first entries, or, where size is 0, of all
// that there are. The error wraps [ErrNoSuchEntry] where there are not as many.
func (l *Log) Checkpoint(ctx context.Context, s *Signer, size uint64) (c Checkpoint, err error) {
	err = l.st.View(ctx, func(tx store.Tx) error {
		_, c, err = l.checkpoint(tx, s, size)
		return err
	})
	return c, err
}

func (l *Log) checkpoint(tx store.Tx, s *Signer, size uint64) (*tree, Checkpoint, error) {
	head, err := l.head(tx)
	if err != nil {
		return nil, Checkpoint{}, err
	}
	if size == 0 {
		size = head.Seq
	}
	if size > head.Seq {
		return nil, Checkpoint{}, fmt.Errorf("%w: it has %d, not %d", ErrNoSuchEntry, head.Seq, size)
	}
	t := newTree(tx, size)
	root, err := t.root()
	if err != nil {
		return nil, Checkpoint{}, fmt.Errorf("reading the audit log's tree: %w", err)
	}
	c, err := s.checkpoint(size, root)
	return t, c, err
}

// OpenCheckpoint reads a signed checkpoint, and checks that it is of the log
// with this key. Signatures of others on it, as of witnesses, are passed over.
func OpenCheckpoint(text string, key note.Verifier) (Checkpoint, error) {
	n, err := note.Open([]byte(text), note.VerifierList(key))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("the checkpoint is not signed by %s: %w", key.Name(), err)
	}
	lines := strings.SplitN(n.Text, "\n", 4)
	if len(lines) < 4 || lines[0] != key.Name() {
		return Checkpoint{}, errors.New("the checkpoint does not say of which log, how many entries and with which root")
	}
	size, err := strconv.ParseUint(lines[1], 10, 63)
	if err != nil || strconv.FormatUint(size, 10) != lines[1] {
		return Checkpoint{}, errors.New("the checkpoint's second line is no number of entries")
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil || root.String() != lines[2] {
		return Checkpoint{}, errors.New("the checkpoint's third line is no hash in base64")
	}
	return Checkpoint{Origin: lines[0], Size: size, Root: root, Text: text}, nil
}

// OpenCheckpoints reads checkpoints that stand one after the other, as a file
// has them to which they are appended; an empty line may be between. One that is
// not whole or not of this key is an error that names its line.
func OpenCheckpoints(text string, key note.Verifier) ([]Checkpoint, error) {
	var list []Checkpoint
	var one strings.Builder
	begun, signed := 1, false
	take := func() error {
		c, err := OpenCheckpoint(one.String(), key)
		if err != nil {
			return fmt.Errorf("line %d: %w", begun, err)
		}
		list = append(list, c)
		one.Reset()
		signed = false
		return nil
	}
	for i, line := range strings.SplitAfter(text, "\n") {
		if signed && !strings.HasPrefix(line, "— ") {
			if err := take(); err != nil {
				return nil, err
			}
		}
		if one.Len() == 0 {
			if strings.TrimSpace(line) == "" {
				continue
			}
			begun = i + 1
		}
		one.WriteString(line)
		signed = strings.HasPrefix(line, "— ")
	}
	if one.Len() > 0 {
		if err := take(); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, errors.New("there is no checkpoint")
	}
	return list, nil
}
