package app

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/holdgate/holdgate/store/badger"
)

// Files say how the files of a state folder's database are.
type Files = badger.Condition

// CheckFiles says how the files of a state folder's database are. No sidecar may use it.
func CheckFiles(stateDir string) (Files, error) {
	dir, err := localFiles(stateDir)
	if err != nil {
		return Files{}, err
	}
	return badger.Check(dir, slog.New(slog.DiscardHandler))
}

// SalvageFiles is CheckFiles, and mends what can be mended without a loss.
func SalvageFiles(stateDir string) (Files, error) {
	dir, err := localFiles(stateDir)
	if err != nil {
		return Files{}, err
	}
	aside := dir + ".damaged-" + time.Now().UTC().Format("20060102T150405.000")
	return badger.Salvage(dir, aside, slog.New(slog.DiscardHandler))
}

// localFiles is the folder of the database in a state folder, which must be there.
func localFiles(stateDir string) (string, error) {
	if _, err := checkFormat(filepath.Join(stateDir, formatFile)); err != nil {
		return "", err
	}
	if err := CheckMoved(stateDir); err != nil {
		return "", err
	}
	dir := filepath.Join(stateDir, dbName)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no database in %s", stateDir)
	}
	return dir, nil
}
