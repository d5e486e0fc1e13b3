package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// maxInput bounds a line, in bytes. Terminals themselves take no longer ones.
const maxInput = 4096

// A tty is the person's terminal, opened anew: its flags are shared with
// nobody.
type tty struct {
	file *os.File
	raw  syscall.RawConn
}

// openTTY opens the terminal, or says why it is not to be trusted. What others
// were allowed to do with it is taken away, and returned as it was.
func openTTY(path string, agents []string) (_ *tty, tightened string, err error) {
	switch {
	case path == "":
		return nil, "", errors.New("tty is not set: name the terminal, as the command tty prints it")
	case filepath.Clean(path) == "/dev/tty":
		return nil, "", errors.New("tty is /dev/tty, which means another terminal to every process: name the device itself, as the command tty prints it")
	case !filepath.IsAbs(path):
		return nil, "", fmt.Errorf("tty %s is not an absolute path", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|openFlags, 0)
	if err != nil {
		return nil, "", fmt.Errorf("opening the terminal: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, "", fmt.Errorf("opening the terminal: %w", err)
	}
	t := &tty{file: f, raw: raw}
	if !t.isTerminal() {
		return nil, "", fmt.Errorf("%s is not a terminal", path)
	}
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		return nil, "", fmt.Errorf("%s cannot be read with a deadline: %w", path, err)
	}
	if tightened, err = t.tighten(agents); err != nil {
		return nil, "", fmt.Errorf("%s is not used to ask: %w", path, err)
	}
	return t, tightened, nil
}

// tighten refuses a terminal that others use, and makes it its owner's alone.
func (t *tty) tighten(agents []string) (was string, err error) {
	info, err := t.file.Stat()
	if err != nil {
		return "", err
	}
	uid, own, ok := identity(info)
	if !ok {
		return "", errors.New("its owner is not known")
	}
	if me := os.Geteuid(); uid != uint32(me) {
		return "", fmt.Errorf("it belongs to user %d, and this is %d", uid, me)
	}
	for _, a := range agents {
		other, err := os.Stat(a)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("comparing it with an agent's terminal: %w", err)
		}
		if _, device, ok := identity(other); !ok || device == own {
			return "", fmt.Errorf("%s is an agent's terminal: an agent could answer there", a)
		}
	}
	mode := info.Mode().Perm()
	switch {
	case mode&0o002 != 0:
		return "", fmt.Errorf("everybody may write to it (mode %04o)", mode)
	case mode&0o077 == 0:
		return "", nil
	}
	if err := t.file.Chmod(0o600); err != nil {
		return "", fmt.Errorf("others may use it (mode %04o), and that cannot be changed: %w", mode, err)
	}
	return fmt.Sprintf("%04o", mode), nil
}

// isTerminal reports whether it is one still: one that has been hung up is not.
func (t *tty) isTerminal() (is bool) {
	err := t.raw.Control(func(fd uintptr) { is = term.IsTerminal(int(fd)) })
	return is && err == nil
}

// width is how many cells a line has, or 0 where that is not known.
func (t *tty) width() (cols int) {
	err := t.raw.Control(func(fd uintptr) {
		if w, _, err := term.GetSize(int(fd)); err == nil {
			cols = w
		}
	})
	if err != nil {
		return 0
	}
	return cols
}

// alive returns an error where the person has closed the terminal.
func (t *tty) alive() error {
	if !t.isTerminal() {
		return errors.New("the terminal is gone")
	}
	return nil
}

// discard throws away what was typed and not read, half a line included.
func (t *tty) discard() error {
	var failed error
	err := t.raw.Control(func(fd uintptr) { failed = flushInput(int(fd)) })
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("clearing the terminal's input: %w", err)
	}
	return nil
}

// readLine reads until Enter, or until ctx ends, and returns its cause then.
// Nothing is read ahead. What a line has beyond its end is thrown away.
func (t *tty) readLine(ctx context.Context) (string, error) {
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = t.file.SetReadDeadline(time.Unix(1, 0)) // it was possible before
		close(interrupted)
	})
	defer func() {
		if !stop() {
			<-interrupted
		}
		_ = t.file.SetReadDeadline(time.Time{})
	}()
	var line strings.Builder
	buf := make([]byte, maxInput)
	for {
		n, err := t.file.Read(buf)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if errors.Is(err, io.EOF) && t.isTerminal() {
			return line.String(), nil // Ctrl-D
		}
		if err != nil {
			return "", fmt.Errorf("reading the terminal: %w", err)
		}
		text, _, whole := strings.Cut(strings.ReplaceAll(string(buf[:n]), "\r", "\n"), "\n")
		if line.Len()+len(text) <= maxInput {
			line.WriteString(text)
		}
		if whole {
			return strings.ToValidUTF8(line.String(), "\uFFFD"), nil
		}
	}
}

// Write implements [io.Writer].
func (t *tty) Write(b []byte) (int, error) { return t.file.Write(b) }

// Close closes the terminal. A read that waits ends.
func (t *tty) Close() error { return t.file.Close() }
