package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// The parts of a confinement, as errors and doctor name them.
const (
	partNamespaces = "user namespaces"
	partMounts     = "mounts in a namespace"
	partNetwork    = "netfilter in a namespace"
	partLandlock   = "Landlock"
	partSeccomp    = "seccomp filters"
	partNotify     = "system calls that are answered outside"
	partOverlay    = "private layers over caches and settings"
)

// What the files that a confined process sends are.
const (
	fileAgents     = "agents"
	fileRedirected = "redirected"
	fileNames      = "names"
	fileTerminal   = "terminal"
)

// A report is what the confined process says of itself: one message, with files.
type report struct {
	Part  string // that is missing
	Hint  string
	Error string // empty: all went well
	Files []string

	Shared string // why what was to be private is not
}

func (r report) failure() error {
	switch {
	case r.Error == "":
		return nil
	case r.Part == "":
		return errors.New(r.Error)
	}
	return &MissingError{Part: r.Part, Err: errors.New(r.Error), Hint: r.Hint}
}

// failed is the report of an error.
func failed(err error) report {
	r := report{Error: err.Error()}
	if m, ok := errors.AsType[*MissingError](err); ok {
		r = report{Part: m.Part, Hint: m.Hint, Error: m.Err.Error()}
	}
	return r
}

// maxReport bounds a report: a few names, or an error.
const maxReport = 4096

// send sends a report and the files that it names.
func send(control *os.File, r report, files ...*os.File) error {
	if len(r.Error) > maxReport/2 {
		r.Error = r.Error[:maxReport/2]
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		var fds []int
		for _, f := range files {
			fds = append(fds, int(f.Fd()))
		}
		rights = unix.UnixRights(fds...)
	}
	return unix.Sendmsg(int(control.Fd()), append(b, '\n'), rights, nil, 0)
}

// receive receives a report, and its files.
func receive(c *net.UnixConn) (r report, files []*os.File, err error) {
	buf, oob := make([]byte, maxReport), make([]byte, unix.CmsgSpace(16*4))
	n, oobn, _, _, err := c.ReadMsgUnix(buf, oob)
	if err != nil || n == 0 {
		if err == nil || errors.Is(err, unix.ECONNRESET) {
			err = io.ErrUnexpectedEOF
		}
		return r, nil, fmt.Errorf("the confined process ended: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return r, nil, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return r, files, err
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	if err := json.Unmarshal(buf[:n], &r); err != nil {
		return r, files, fmt.Errorf("reading what the confined process says: %w", err)
	}
	return r, files, nil
}
