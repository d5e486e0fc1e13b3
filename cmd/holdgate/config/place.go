package config

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// StateDir is the state folder that flags, environment and file name, where the rest of the
// file may have faults. So a sidecar is found that goes on with what was in force before.
func StateDir(f Flags, env func(string) string) (string, error) {
	c, err := defaults(env)
	if err != nil {
		return "", err
	}
	file, err := f.openFile(env)
	if err != nil {
		return "", err
	}
	if file != nil {
		defer file.Close()
		named, err := stateDirIn(file)
		if err != nil {
			return "", err
		}
		if named != "" && !filepath.IsAbs(named) {
			named = filepath.Join(filepath.Dir(file.Name()), named)
		}
		c.StateDir = first(named, c.StateDir)
	}
	return filepath.Abs(first(f.StateDir, env(EnvStateDir), c.StateDir))
}

// stateDirIn is the state folder that a file names; empty where it names none.
func stateDirIn(r io.Reader) (string, error) {
	var c struct {
		StateDir string `yaml:"state_dir"`
	}
	if err := yaml.NewDecoder(io.LimitReader(r, maxFile)).Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("finding state_dir: %w", err)
	}
	return c.StateDir, nil
}
