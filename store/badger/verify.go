package badger

import (
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
var ErrDamaged = errors.New("the file is damaged: restore the state folder from a backup, or move its db folder away to begin anew without what it holds")

// verifyTables checks every table that the database lists. Badger itself would
// go on without a table whose checksums are wrong, and so forget what was
// acknowledged, and panic in a goroutine of its own over one that was cut. A
// table that is not listed was never finished; Badger removes it.
func verifyTables(dir string, o badgerdb.Options) error {
	f, err := os.Open(filepath.Join(dir, badgerdb.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there is no database yet
	}
	if err != nil {
		return err
	}
	defer f.Close()
	m, _, err := badgerdb.ReplayManifestFile(f, o.ExternalMagicVersion, o)
	if err != nil {
		return fmt.Errorf("%s: %w (%w)", f.Name(), ErrDamaged, err)
	}
	for id, t := range m.Tables {
		path := table.NewFilename(id, dir)
		err := verifyTable(path, table.Options{
			ReadOnly: true, ChkMode: options.OnTableAndBlockRead, Compression: t.Compression, BlockSize: o.BlockSize,
		})
		if err != nil {
			return fmt.Errorf("%s: %w (%w)", path, ErrDamaged, err)
		}
	}
	return nil
}

// verifyTable reads a table whole.
func verifyTable(path string, o table.Options) (err error) {
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
	_, err = table.OpenTable(file, o)
	return err
}
