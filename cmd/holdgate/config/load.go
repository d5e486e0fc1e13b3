package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"

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
	if err := c.readFile(f, env); err != nil {
		return Config{}, err
	}
	c.StateDir = first(f.StateDir, env(EnvStateDir), c.StateDir)
	c.Listen.Agents = first(f.Agents, c.Listen.Agents)
	c.Listen.Approvers = first(f.Approvers, c.Listen.Approvers)
	c.Policy.Path = first(f.Policy, c.Policy.Path)
	if err := c.addNamed(f); err != nil {
		return Config{}, err
	}
	for _, p := range c.paths() {
		if *p == "" {
			continue
		}
		if *p, err = filepath.Abs(*p); err != nil {
			return Config{}, fmt.Errorf("making %s absolute: %w", *p, err)
		}
	}
	return c, c.Validate()
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
// relative to it.
func (c *Config) readFile(flags Flags, env func(string) string) error {
	f, err := flags.open(env)
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	path := f.Name()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	if len(text) > maxFile {
		return fmt.Errorf("configuration %s is over %d bytes", path, maxFile)
	}
	if err := c.parse(path, text); err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	c.File, c.Digest = path, hex.EncodeToString(sum[:])
	dir := filepath.Dir(path)
	for _, p := range c.paths() {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	return nil
}

// paths are the keys that name files and folders.
func (c *Config) paths() []*string {
	all := []*string{&c.StateDir, &c.Policy.Path, &c.Policy.Bundle.Key, &c.Policy.OPAConfig, &c.Audit.Checkpoints.File,
		&c.Listen.AgentsSocket, &c.Kubernetes.TokenFile, &c.Kubernetes.CAFile, &c.UpstreamProxy.CredentialsFile}
	if !strings.Contains(c.Kubernetes.Keys, "://") {
		all = append(all, &c.Kubernetes.Keys)
	}
	for _, k := range c.Credentials {
		if k != nil {
			all = append(all, &k.File)
		}
	}
	for i := range c.TLS.CAFiles {
		all = append(all, &c.TLS.CAFiles[i])
	}
	return all
}

// parse reads YAML over c. name is the file's name in errors.
func (c *Config) parse(name string, text []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(c); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // an empty file
		}
		return explain(name, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("configuration %s holds more than one document", name)
	}
	return nil
}

var (
	lineFault = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	unknown   = regexp.MustCompile(`^field (.*) not found in type \S+$`)
	goType    = regexp.MustCompile(`^cannot unmarshal !!(\w+).* into \S+$`)
)

// explain says what is wrong with a file, by lines and without Go types.
func explain(name string, err error) error {
	texts := []string{err.Error()}
	if e, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts = e.Errors
	}
	var faults []string
	for _, t := range texts {
		where := name
		if m := lineFault.FindStringSubmatch(t); m != nil {
			where, t = name+":"+m[1], m[2]
		}
		if m := unknown.FindStringSubmatch(t); m != nil {
			t = fmt.Sprintf("unknown key %q", m[1])
		} else if m := goType.FindStringSubmatch(t); m != nil {
			t = fmt.Sprintf("a value of the wrong type (%s)", m[1]) // the value may be a secret
		}
		faults = append(faults, where+": "+t)
	}
	return errors.New(strings.Join(faults, "\n"))
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
