package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/user"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// The variables of the environment that are read.
const (
	EnvConfig   = "HOLDGATE_CONFIG"
	EnvStateDir = "HOLDGATE_STATE_DIR"
)

// maxFile bounds the configuration file, in bytes.
const maxFile = 1 << 20

// Flags are what the command line says. Empty fields say nothing.
type Flags struct {
	Config    string   // the file
	NoFile    bool     // no file is read, whatever names one or lies at the usual place
	StateDir  string   // --state-dir
	Agents    string   // --agents
	Approvers string   // --approvers
	Policy    string   // --policy
	Upstreams []string // --upstream NAME=URL
	MCP       []string // --mcp NAME=URL
}

// Load reads the configuration and validates it. env is [os.Getenv], or what a
// test puts in its place.
func Load(f Flags, env func(string) string) (Config, error) {
	c, err := defaults(env)
	if err != nil {
		return Config{}, err
	}
	file, err := c.readFile(f, env)
	if err != nil {
		return Config{}, err
	}
	c.StateDir = first(f.StateDir, env(EnvStateDir), c.StateDir)
	c.Listen.Agents = first(f.Agents, c.Listen.Agents)
	c.Listen.Approvers = first(f.Approvers, c.Listen.Approvers)
	c.Policy.Path = first(f.Policy, c.Policy.Path)
	if err := c.addNamed(f); err != nil {
		return Config{}, err
	}
	for _, f := range c.files() {
		if f.Path == "" {
			continue
		}
		if *f.at, err = filepath.Abs(f.Path); err != nil {
			return Config{}, fmt.Errorf("making %s absolute: %w", f.Path, err)
		}
	}
	return c, located(c.File, file, c.Validate())
}

// defaults finds the state folder and the approver's name in the environment.
func defaults(env func(string) string) (Config, error) {
	name := "approver"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	dir := env("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification ignores a relative one
		home := env("HOME")
		if home == "" && env(EnvStateDir) == "" {
			return Config{}, errors.New("no state folder: neither HOME nor XDG_STATE_HOME is set; name one with --state-dir")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return Default(filepath.Join(dir, "holdgate"), name), nil
}

// readFile reads the file, where there is one, over c. Relative paths in it are
// relative to it. It returns the file's nodes, nil where there are none.
func (c *Config) readFile(flags Flags, env func(string) string) (*yaml.Node, error) {
	f, err := flags.openFile(env)
	if err != nil || f == nil {
		return nil, err
	}
	defer f.Close()
	path := f.Name()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("configuration %s is over %d bytes", path, maxFile)
	}
	node, err := c.parse(path, text)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	c.File, c.Digest = path, hex.EncodeToString(sum[:])
	dir := filepath.Dir(path)
	for _, f := range c.files() {
		if f.Path != "" && !filepath.IsAbs(f.Path) {
			*f.at = filepath.Join(dir, f.Path)
		}
	}
	return node, nil
}

// first returns the first that is not empty.
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
