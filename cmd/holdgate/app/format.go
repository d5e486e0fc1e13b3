package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

const formatFile = "format"

// stateFormat is the version of what is in the state folder. It grows where an older Holdgate would misread what a
// newer one has written; records that older ones pass over do not count. A folder without the file is of version 1.
const stateFormat = 1

// openFormat refuses a folder that a newer Holdgate has written, and says in others of which version they are.
func openFormat(path string) error {
	told, err := checkFormat(path)
	if err == nil && !told {
		if err := os.WriteFile(path, []byte(strconv.Itoa(stateFormat)+"\n"), 0o600); err != nil {
			return fmt.Errorf("writing the version of the state folder: %w", err)
		}
	}
	return err
}

// checkFormat refuses a folder that a newer Holdgate has written. Told is false where the folder does not say.
func checkFormat(path string) (told bool, err error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(text) == 0: // a machine may stop before the text is on disk
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading the version of the state folder: %w", err)
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	switch {
	case err != nil || version < 1:
		return true, fmt.Errorf("%s holds no version: restore it from a backup", path)
	case version > stateFormat:
		return true, fmt.Errorf("a newer Holdgate has written this state folder: %s says version %d, and this Holdgate reads up to %d; use the newer one, or restore the backup from before the upgrade", path, version, stateFormat)
	}
	return true, nil
}
