package launch

import (
	"errors"
	"os"
	"path/filepath"
)

// caches are folders below home that build tools keep what they fetched in, as
// far as they were seen to need it.
var caches = []string{".cache", ".npm", ".cargo/registry", ".cargo/git", "go/pkg"}

// own are what agents keep below home: settings, logins, histories. A name that
// ends in a slash is a folder.
var own = map[string][]string{
	"claude":   {".claude/", ".claude.json"},
	"codex":    {".codex/"},
	"gemini":   {".gemini/"},
	"qwen":     {".qwen/"},
	"opencode": {".local/share/opencode/", ".local/state/opencode/", ".config/opencode/"},
	"cline":    {".cline/"},
	"crush":    {".local/share/crush/", ".config/crush/"},
	"goose":    {".local/share/goose/", ".local/state/goose/", ".config/goose/"},
	"aider":    {".aider/"},
}

// Caches are the folders below home that hold nothing but what can be fetched or
// made again.
func Caches(home string) (paths []string) {
	for _, name := range caches {
		paths = append(paths, filepath.Join(home, name))
	}
	return paths
}

// Writes are the places below home that a confined program needs to write. They
// are made where they are missing, for the agent could not: its home is not its to
// write.
func Writes(program, home string) (paths []string, err error) {
	if home == "" {
		return nil, nil
	}
	for _, name := range own[filepath.Base(program)] {
		path := filepath.Join(home, name)
		paths = append(paths, path)
		if name[len(name)-1] == '/' {
			err = errors.Join(err, os.MkdirAll(path, 0o700))
			continue
		}
		f, ferr := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(ferr, os.ErrExist) {
			continue
		}
		if ferr == nil {
			_, ferr = f.WriteString("{}\n")
			ferr = errors.Join(ferr, f.Close())
		}
		err = errors.Join(err, ferr)
	}
	for _, name := range caches {
		path := filepath.Join(home, name)
		if os.MkdirAll(path, 0o755) == nil { // else the user could not write there either
			paths = append(paths, path)
		}
	}
	return paths, err
}
