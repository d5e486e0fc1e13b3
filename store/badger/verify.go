package badger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	badgerdb "github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"
)

// ErrDamaged says that a file of the database is not as it was written.
var ErrDamaged = errors.New("the file is damaged: `holdgate store check` says whether something is lost, and `holdgate store salvage` mends a log of which nothing is. Else restore the state folder from a backup, or move its db folder away to begin anew without what it holds")

// verifyTables checks every table that the database lists, before it is opened. Badger
// itself would go on without a table whose checksums are wrong, take what is in a damaged
// block for not there, and so forget what was acknowledged; and panic in a goroutine of
// its own over a table that was cut. A table that has nothing but cold keys is checked as
// far as Badger reads it to open it. One that is not listed was never finished; Badger
// removes it.
func verifyTables(dir string, o opening) error {
	f, err := os.Open(filepath.Join(dir, badgerdb.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there is no database yet
	}
	if err != nil {
		return err
	}
	defer f.Close()
	m, _, err := badgerdb.ReplayManifestFile(f, o.ExternalMagicVersion, o.Options)
	if err != nil {
		return fmt.Errorf("%s: %w (%w)", f.Name(), ErrDamaged, err)
	}
	for id, t := range m.Tables {
		path := table.NewFilename(id, dir)
		err := verifyTable(path, o.cold, table.Options{
			ReadOnly: true, ChkMode: options.OnBlockRead, Compression: t.Compression, BlockSize: o.BlockSize,
		})
		if err != nil {
			return fmt.Errorf("%s: %w (%w)", path, ErrDamaged, err)
		}
	}
	return nil
}

// verifyTable reads a table whole, but where all its keys are cold.
func verifyTable(path string, cold []string, o table.Options) (err error) {
	file, err := z.OpenMmapFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be read: %.200v", p)
		}
		err = errors.Join(err, file.Close(-1))
	}()
	t, err := table.OpenTable(file, o)
	if err != nil {
		return err
	}
	for _, prefix := range cold {
		if within := pairKey(prefix); bytes.HasPrefix(t.Smallest(), within) && bytes.HasPrefix(t.Biggest(), within) {
			return nil
		}
	}
	return t.VerifyChecksum()
}
