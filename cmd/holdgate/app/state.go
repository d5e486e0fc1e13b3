package app

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/proxy/hookproof"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// state is what the state folder holds besides the database: the approver's
// token, and the secret from which every other key is derived.
type state struct {
	token  string
	secret []byte
	// added are the further lines of secret.key: the last one is for sealing, and
	// those before it open what they sealed.
	added [][]byte
	hook  []byte // proves answers to agents' hooks
}

const (
	tokenFile  = "approver.token"
	socketName = "holdgate.sock"
	secretFile = "secret.key"
)

// openState makes the folder and its secrets on first use. Files that others
// may read are refused: what they hold is known to more than the approver.
func openState(dir string) (*state, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the state folder: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the state folder: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("the state folder %s has mode %04o: others may write to it; set it to 0700", dir, info.Mode().Perm())
	}
	if err := openFormat(filepath.Join(dir, formatFile)); err != nil {
		return nil, err
	}
	if err := checkSecretKey(dir); err != nil {
		return nil, err
	}
	token, err := openSecret(filepath.Join(dir, tokenFile))
	if err != nil {
		return nil, err
	}
	if len(token) < api.MinToken {
		return nil, fmt.Errorf("%s holds no token: remove it to have a new one made", filepath.Join(dir, tokenFile))
	}
	secrets, err := openSecretKey(dir)
	if err != nil {
		return nil, err
	}
	hook, err := hookKey(dir)
	if err != nil {
		return nil, err
	}
	return &state{token: token, secret: secrets[0], added: secrets[1:], hook: hook}, nil
}

// hookKey reads the key that proves answers to hooks, or makes it.
func hookKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, hookproof.File)
	text, err := openSecret(path)
	if err != nil {
		return nil, err
	}
	key, err := hookproof.ParseKey([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w: remove it to have a new one made", path, err)
	}
	return key, nil
}

// HookKeyFile is the path of the key by which the sidecar of a state folder proves itself
// to hooks. It makes the folder and the key where there are none yet.
func HookKeyFile(stateDir string) (string, error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return "", fmt.Errorf("making the state folder: %w", err)
	}
	_, err := hookKey(stateDir)
	return filepath.Join(stateDir, hookproof.File), err
}

// checkSecretKey refuses a folder that has lost its secret.key: what the database has
// could not be read with another one.
func checkSecretKey(dir string) error {
	for _, name := range []string{dbName, movedName, movedFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, secretFile)); errors.Is(err, fs.ErrNotExist) { // it is made before a database
			return fmt.Errorf("%s is missing beside %s in %s: restore it from the backup", secretFile, name, dir)
		}
	}
	return nil
}

// openSecretKey reads secret.key, or makes it where the folder has no state yet.
func openSecretKey(dir string) ([][]byte, error) {
	if err := checkSecretKey(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, secretFile)
	if _, err := openSecret(path); err != nil {
		return nil, err
	}
	return readSecretKey(path)
}

// readSecretKey reads the secrets from which the keys are derived, one a line.
func readSecretKey(path string) (secrets [][]byte, err error) {
	text, err := readSecret(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		raw, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil || len(raw) != 32 {
			return nil, fmt.Errorf("line %d of %s does not hold 32 bytes in hex: restore it from a backup; without it stored answers cannot be opened and the audit log's head cannot be checked", len(secrets)+1, path)
		}
		secrets = append(secrets, raw)
	}
	return secrets, nil
}

// openSecret reads a file of 32 random bytes in hex, or makes it. Sidecars that
// start together on one folder read the same: a file is linked to its name when
// it is whole, and the name is given once.
func openSecret(path string) (string, error) {
	secret, err := readSecret(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	if err := makeSecret(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("making %s: %w", path, err)
	}
	return readSecret(path)
}

func makeSecret(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: see its documentation
	_, err = f.WriteString(hex.EncodeToString(b) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

func readSecret(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s has mode %s: only its owner may read it; set it to 0600", path, info.Mode())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	s := strings.TrimSpace(string(b))
	if s == "" {
		return "", fmt.Errorf("%s is empty: remove it to have a new one made", path)
	}
	return s, nil
}

// AuditKey reads the key of the audit log's head in a state folder, for whoever
// reads the log while no sidecar runs.
func AuditKey(stateDir string) ([]byte, error) {
	if err := checkSecretKey(stateDir); err != nil {
		return nil, err
	}
	secrets, err := readSecretKey(filepath.Join(stateDir, secretFile))
	if err != nil {
		return nil, err
	}
	return keyOf(secrets[0], purposeAudit), nil
}

// AuditSigner returns the signer of the audit log's checkpoints, whose Ed25519
// key is derived from the state folder's secret.
func AuditSigner(stateDir string) (*audit.Signer, error) {
	if err := checkSecretKey(stateDir); err != nil {
		return nil, err
	}
	secrets, err := readSecretKey(filepath.Join(stateDir, secretFile))
	if err != nil {
		return nil, err
	}
	return audit.NewSigner(keyOf(secrets[0], purposeSign))
}

// UndoKey returns the key of a state folder that seals what is kept for undo. It
// makes the secret where there is none yet.
func UndoKey(stateDir string) ([]byte, error) {
	secrets, err := openSecretKey(stateDir)
	if err != nil {
		return nil, err
	}
	return keyOf(secrets[0], purposeUndo), nil
}

// The purposes of the keys.
const (
	purposeAudit   = "audit head"
	purposeSign    = "audit checkpoints"
	purposeDigest  = "call digest"
	purposeSeal    = "sealed bodies"
	purposeUndo    = "undo"
	purposeNonce   = "channel nonces"
	purposePage    = "the page's name"
	purposePush    = "push to browsers"
	purposeShared  = "the store's members"
	purposeReplace = "successors"
)

// key derives the key for a purpose from the first secret.
func (s *state) key(purpose string) []byte { return keyOf(s.secret, purpose) }

// sealKeys are the key that seals, and those that only open.
func (s *state) sealKeys() (newest []byte, older [][]byte) {
	newest = s.key(purposeSeal)
	for _, secret := range s.added {
		older = append(older, newest)
		newest = keyOf(secret, purposeSeal)
	}
	return newest, older
}

// marks tell by which of the secrets something was made, and nothing of them.
func (s *state) marks() (list [][]byte) {
	for _, secret := range append([][]byte{s.secret}, s.added...) {
		list = append(list, keyOf(secret, purposeShared))
	}
	return list
}

// keyOf derives a key of 32 bytes from a secret (RFC 5869).
func keyOf(secret []byte, purpose string) []byte {
	k, err := hkdf.Key(sha256.New, secret, nil, "holdgate "+purpose, 32)
	if err != nil {
		panic(err) // only for lengths out of range
	}
	return k
}

// closeFor is how long the database may take to close. What it does then saves
// time when it is opened next, and nothing else: whatever was acknowledged is in
// its log, as after a power cut.
const closeFor = 10 * time.Second

// closeStore closes the database, and gives up where its folder has gone or its
// disk does not answer: it would try without end to write what it has in memory.
func (a *App) closeStore(st store.Store) error {
	if a.c.Store.Postgres.On() {
		return st.Close()
	}
	dir := filepath.Join(a.c.StateDir, dbName)
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("the database's folder has gone while it was open, and its state with it: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- st.Close() }() // nobody can end it; this process is about to
	select {
	case err := <-done:
		return err
	case <-time.After(closeFor):
		return fmt.Errorf("the database in %s did not close within %s: what was acknowledged is on disk, and it closes by itself when it is opened next", dir, closeFor)
	}
}
