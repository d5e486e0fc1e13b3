// Package command is what all commands share: what they may touch of the process, the door of the sidecar, errors
// with exit codes and hints, and how data is printed. What agents or clients wrote is printed through
// [holdgate.Visible] alone.
package command

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// An Env is what a command may touch of the process.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
}

// EnvTokenFile names the file of a person's token.
const EnvTokenFile = "HOLDGATE_TOKEN_FILE"

// EnvURL leads to a sidecar's approvers' port instead of the socket in the state folder.
const EnvURL = "HOLDGATE_URL"

// flagValue is a global flag's value, wherever on the command line it stands:
// the one nearest to the command's arguments wins.
func flagValue(c *cli.Context, name string) string {
	for _, l := range c.Lineage() {
		if l.IsSet(name) {
			return l.String(name)
		}
	}
	return ""
}

// Again is what a command that is suggested needs to find the same sidecar as
// the same person: the global flags that this one was given, each after a blank.
// A path is absolute, for the command may be run in another folder.
func Again(c *cli.Context) string {
	var b strings.Builder
	for _, name := range []string{"state-dir", "config", "token-file"} {
		if slices.ContainsFunc(c.Lineage(), func(l *cli.Context) bool { return l.IsSet(name) }) {
			b.WriteString(" --" + name + " " + ShellWord(Absolute(flagValue(c, name))))
		}
	}
	return b.String()
}

// Elsewhere are the flags by which a command in another terminal, with nothing of this
// one's environment, finds the sidecar of a state folder: none where it does without.
func (e *Env) Elsewhere(stateDir string) []string {
	usual, err := config.Load(config.Flags{}, func(name string) string {
		if name == config.EnvStateDir || name == config.EnvConfig {
			return ""
		}
		return e.Getenv(name)
	})
	stateDir = Absolute(stateDir)
	if err == nil && Absolute(usual.StateDir) == stateDir {
		return nil
	}
	return []string{"--state-dir", stateDir}
}

// Absolute is the path from any folder. An empty one names nothing, and stays.
func Absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		return abs
	}
	return path
}

// ShellWord is s as one word of a POSIX shell.
func ShellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("@%+=:,./-_", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// CommandLine is a command of holdgate as a person can type it.
func CommandLine(words []string) string {
	line := "holdgate"
	for _, w := range words {
		line += " " + ShellWord(w)
	}
	return line
}

// Globals are the global flags that say where settings come from. An empty
// --config is one that names no file.
func Globals(c *cli.Context) config.Flags {
	named := slices.ContainsFunc(c.Lineage(), func(l *cli.Context) bool { return l.IsSet("config") })
	file := flagValue(c, "config")
	return config.Flags{Config: file, NoFile: named && file == "", StateDir: flagValue(c, "state-dir")}
}

// Settings loads the configuration as far as every command needs it.
func (e *Env) Settings(c *cli.Context) (config.Config, error) {
	s, err := config.Load(Globals(c), e.Getenv)
	if err != nil {
		return config.Config{}, ConfigFault(err)
	}
	return s, nil
}

var fileAndLine = regexp.MustCompile(`^\S+:[0-9]+: `)

// ConfigFault leads with the file and the line of what is wrong, where it has one.
func ConfigFault(err error) error {
	if fileAndLine.MatchString(err.Error()) {
		return err
	}
	return fmt.Errorf("configuration: %w", err)
}

// Sidecar returns a client for the sidecar of the state folder. Close it. Where the
// configuration has a fault the sidecar that runs goes on with what was in force, and is
// asked all the same.
func (e *Env) Sidecar(c *cli.Context) (*client.Client, error) {
	dir, err := e.Place(c)
	if err != nil {
		return nil, err
	}
	return client.New(e.Door(c, dir))
}

// Place is the state folder. It warns of a configuration that has a fault elsewhere.
func (e *Env) Place(c *cli.Context) (string, error) {
	s, fault := e.Settings(c)
	if fault == nil {
		return s.StateDir, nil
	}
	dir, err := config.StateDir(Globals(c), e.Getenv)
	if err != nil {
		return "", fault
	}
	for line := range strings.SplitSeq(fault.Error(), "\n") {
		fmt.Fprintf(e.Stderr, "warning: %s\n", holdgate.Visible(line))
	}
	fmt.Fprintln(e.Stderr, "warning: a sidecar that runs goes on with the configuration from before")
	return dir, nil
}

// Door says where the sidecar of a state folder is, and as whom to come.
func (e *Env) Door(c *cli.Context, stateDir string) client.Options {
	o := client.Options{StateDir: stateDir, TokenFile: flagValue(c, "token-file"), URL: e.Getenv(EnvURL), Channel: "cli"}
	if o.TokenFile == "" {
		o.TokenFile = e.Getenv(EnvTokenFile)
	}
	return o
}

// Editor is the person's editor, as a command line.
func (e *Env) Editor() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if v := e.Getenv(name); v != "" {
			return v
		}
	}
	return "vi"
}
