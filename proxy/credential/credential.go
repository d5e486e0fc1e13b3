// Package credential holds what upstreams know an account by, so that agents
// need not: a key in the environment, in a file or behind a command. It is put
// into a request on its way out, to the very origins that it belongs to.
//
// No error, log or String of this package holds a value.
package credential

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http/httpguts"
)

// How a value is written into its header.
const (
	Bearer = "bearer" // Bearer VALUE (RFC 6750)
	Basic  = "basic"  // Basic, of USER:PASSWORD (RFC 7617)
	Plain  = "plain"  // as it is
)

// A Spec says what a credential is. One of Value, File and Command is set.
type Spec struct {
	Name string
	// Origins are where it belongs, as scheme://host:port in lower case.
	Origins []string
	Header  string   // canonical
	Form    string   // Bearer, Basic or Plain
	Agents  []string // patterns of [path.Match]
	// Placeholder is what agents send in its place.
	Placeholder string

	Value   string   // from the environment
	File    string   // that nobody but its owner may read; read for each request
	Command []string // that prints it
	Timeout time.Duration
	For     time.Duration // for which what the command printed is used
}

// A Credential may be used by several goroutines.
type Credential struct {
	Spec

	mu      sync.Mutex
	printed string
	until   time.Time
}

// An Error says which credential cannot be had, and why.
type Error struct {
	Name string
	Err  error
}

func (e *Error) Error() string {
	return fmt.Sprintf("the credential %s, which Holdgate puts in, cannot be had: %v", e.Name, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// String names it.
func (c *Credential) String() string { return "credential " + c.Name }

// GoString is String.
func (c *Credential) GoString() string { return c.String() }

// BelongsTo reports whether it goes to the origin, scheme://host:port.
func (c *Credential) BelongsTo(origin string) bool { return slices.Contains(c.Origins, origin) }

// IsFor reports whether it is the agent's to use. In Agents * stands for anything.
func (c *Credential) IsFor(agent string) bool {
	return len(c.Agents) == 0 || slices.ContainsFunc(c.Agents, func(pattern string) bool {
		ok, err := path.Match(pattern, agent)
		return err == nil && ok
	})
}

// Put writes it into a header, in the place of whatever is under others and of
// what the agent has sent under its own name. What it returns is to be looked for
// in the answer.
func (c *Credential) Put(ctx context.Context, h http.Header, others ...string) (Traces, error) {
	v, err := c.value(ctx)
	if err == nil {
		err = usable(v)
	}
	if err != nil {
		return nil, &Error{c.Name, err}
	}
	for _, name := range others {
		h.Del(name)
	}
	t := traces(c.Form, v)
	switch c.Form {
	case Bearer:
		v = "Bearer " + v
	case Basic:
		v = "Basic " + base64.StdEncoding.EncodeToString([]byte(v))
	}
	h[c.Header] = []string{v}
	return t, nil
}

// usable says what keeps a value from being put into a header.
func usable(v string) error {
	switch {
	case v == "":
		return errors.New("it is empty")
	case !httpguts.ValidHeaderFieldValue(v):
		return errors.New("it holds a line break or another control character: it must be one line")
	}
	return nil
}

// Read returns the value itself, for what Holdgate logs in to on its own account. Its errors do not hold it.
func (c *Credential) Read(ctx context.Context) (string, error) { return c.value(ctx) }

func (c *Credential) value(ctx context.Context) (string, error) {
	switch {
	case c.File != "":
		return ReadFile(c.File)
	case len(c.Command) > 0:
		return c.runCommand(ctx)
	}
	return c.Value, nil
}

const maxValue = 64 << 10

// ReadFile reads a credential's file, which nobody but its owner may read.
func ReadFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%w: write it there, with mode 0600", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no file", path)
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("%s has mode %04o, so that others may read it: chmod 600 %s", path, info.Mode().Perm(), path)
	case info.Size() > maxValue:
		return "", fmt.Errorf("%s is over %d bytes", path, maxValue)
	}
	b := make([]byte, info.Size())
	n, err := f.ReadAt(b, 0)
	if n < len(b) && err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// runCommand has the command print the value, unless what it printed last still counts.
// Requests that come meanwhile wait for it.
func (c *Credential) runCommand(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) {
		return c.printed, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Timeout) // others wait for it too
	defer cancel()
	var out, errs bounded
	cmd := exec.CommandContext(ctx, c.Command[0], c.Command[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, time.Second
	ownGroup(cmd)
	cmd.Cancel = func() error { return signalGroup(cmd.Process, syscall.SIGKILL) }
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s did not end within %s", c.Command[0], c.Timeout)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("there is no program %s", c.Command[0])
	case err != nil: // what it said may hold the value
		return "", fmt.Errorf("%s failed (%w): run it by hand to see why", c.Command[0], err)
	case out.over:
		return "", fmt.Errorf("%s printed over %d bytes", c.Command[0], maxValue)
	}
	c.printed, c.until = strings.TrimSpace(out.String()), time.Now().Add(c.For)
	return c.printed, nil
}

// bounded keeps the beginning of what is written.
type bounded struct {
	bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.over = b.over || b.Len()+len(p) > maxValue; !b.over {
		return b.Buffer.Write(p)
	}
	return len(p), nil
}
