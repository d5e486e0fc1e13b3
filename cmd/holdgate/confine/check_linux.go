package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Check reports whether this machine can confine so, by doing it to nothing: nil,
// or what [Start] says. self is as in [Spec].
func Check(kind string, self []string) (err error) {
	root, err := os.MkdirTemp("", "holdgate-check-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	s := Spec{Kind: kind, Self: self, Dir: filepath.Join(root, "work"), Temp: filepath.Join(root, "temp"), Mask: []string{filepath.Join(root, "mask")}, Terminal: true}
	for _, dir := range []string{s.Dir, s.Temp, s.Mask[0]} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	b, err := Start(s)
	if err != nil {
		return err
	}
	return b.Close()
}
