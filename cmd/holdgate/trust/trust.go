// Package trust says what a sidecar's decisions rest on, and whether an agent that can
// write in a folder could change it.
package trust

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// A trusted path is one that decides over agents: what they can write there
// would decide for them.
type trusted struct{ what, path string }

// Files are the files and folders that the sidecar's decisions rest on: policy,
// configuration, plugins and the program itself, which may be empty.
func Files(c config.Config, program string) []string {
	var paths []string
	for _, t := range trustedPaths(c, program) {
		if t.path != "" {
			paths = append(paths, t.path)
		}
	}
	return paths
}

func trustedPaths(c config.Config, program string) []trusted {
	list := []trusted{{"the configuration", c.File}, {"the program", program}}
	for _, f := range c.Files() {
		if f.Decides {
			list = append(list, trusted{f.Key, f.Path})
		}
	}
	return list
}

// Masked are files and folders that no agent may see: what Holdgate holds for agents,
// and what shows who it is.
func Masked(c config.Config) []string {
	var paths []string
	for _, f := range c.Files() {
		if !f.Secret || f.Path == "" {
			continue
		}
		if _, err := os.Stat(f.Path); f.Setting && errors.Is(err, os.ErrNotExist) {
			continue // a plugin may call so what it makes itself
		}
		paths = append(paths, f.Path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Check refuses to rest decisions on what an agent can write that can write in these
// folders.
func Check(c config.Config, program string, roots []string) error {
	var faults []error
	for _, t := range trustedPaths(c, program) {
		for _, root := range roots {
			at, err := Reachable(t.path, root)
			if err != nil {
				return fmt.Errorf("%s: %w", t.what, err)
			}
			if at != "" {
				faults = append(faults, fmt.Errorf("%s (%s) can be changed by the agent, which writes in %s: keep it elsewhere, or say --trust-writable-policy", t.what, at, root))
			}
		}
	}
	return errors.Join(faults...)
}

// maxLinks bounds how many symbolic links lead to one place.
const maxLinks = 40

// Reachable reports by which name whoever writes below root can change what
// path leads to: the place itself, a folder that it holds or lies in, or a
// symbolic link on the way. Empty: by none. A path that is not there yet is
// judged by where it would be.
func Reachable(path, root string) (at string, err error) {
	if path == "" || root == "" {
		return "", nil
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", fmt.Errorf("finding %s: %w", root, err)
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	seen := string(filepath.Separator)
	left := strings.Split(strings.TrimPrefix(path, seen), seen)
	for links := 0; len(left) > 0; {
		next := filepath.Join(seen, left[0])
		left = left[1:]
		info, err := os.Lstat(next)
		if errors.Is(err, os.ErrNotExist) {
			seen = filepath.Join(append([]string{next}, left...)...)
			break
		}
		if err != nil {
			return "", fmt.Errorf("finding %s: %w", path, err)
		}
		if info.Mode()&os.ModeSymlink == 0 {
			seen = next
			continue
		}
		if below(next, root) {
			return next, nil
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("finding %s: too many symbolic links", path)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", fmt.Errorf("finding %s: %w", path, err)
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(seen, target)
		}
		seen = string(filepath.Separator)
		left = append(strings.Split(strings.TrimPrefix(filepath.Clean(target), seen), seen), left...)
	}
	if below(seen, root) || below(root, seen) {
		return seen, nil
	}
	return "", nil
}

// below reports whether path is dir or lies in it. Both are clean.
func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
