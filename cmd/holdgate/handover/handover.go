// Package handover passes listeners from a `holdgate run` to the sidecar that
// serves its state folder already, over the approvers' socket once the sidecar
// knows that a person asks (unix(7), SCM_RIGHTS):
//
//	run -> sidecar  POST /v1/runs: who it is, and where it can write
//	sidecar -> run  [Terms]: as whom it counts, and what it must not write
//	run -> sidecar  [Doors], with the listeners
//	sidecar -> run  [Served]
//
// Each of these is one line of JSON, and an answer to the one before, so that nobody
// reads ahead. The connection then stays, with a [Line] now and then. Where it ends on
// one side the run has ended, or the sidecar has; the listeners are closed with it.
package handover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/holdgate/holdgate"
)

// Terms are what a run gets told.
type Terms struct {
	Agent    string   `json:"agent"`
	ReadOnly []string `json:"read_only"` // what the sidecar's decisions rest on
	Mask     []string `json:"mask"`      // what no agent may see
}

// What a listener is.
const (
	Agents     = "agents"     // the agents' door, a listener
	Redirected = "redirected" // connections that were to go anywhere, a listener
	Names      = "names"      // questions for names, a packet connection
)

// Doors are what a run hands over: of each file, what it is.
type Doors struct {
	Files []string `json:"files"`

	Proofs holdgate.Proofs `json:"proofs"` // what the agent cannot do to the rest of the machine
}

// Served is the sidecar's last word.
type Served struct {
	Error string `json:"error,omitempty"`
}

// maxMessage bounds a message, in bytes.
const maxMessage = 256 << 10

// MaxFiles is how many files may come with one message.
const MaxFiles = 16

// Send sends a message, and files with its first byte.
func Send(c *net.UnixConn, message any, files ...*os.File) error {
	text, err := json.Marshal(message)
	if len(text) >= maxMessage {
		return fmt.Errorf("the message would have %d bytes, and one has %d at most", len(text), maxMessage)
	}
	if err != nil {
		return err
	}
	text = append(text, '\n')
	var rights []byte
	if len(files) > 0 {
		if rights, err = rightsOf(files); err != nil {
			return err
		}
	}
	n, _, err := c.WriteMsgUnix(text, rights, nil)
	if err == nil && n < len(text) {
		_, err = c.Write(text[n:])
	}
	return err
}

// Receive receives a message, and the files that come with it, which are the
// caller's to close. On an error there are none.
func Receive(c *net.UnixConn, message any) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(files)
			files = nil
		}
	}()
	var text []byte
	buf, oob := make([]byte, 32<<10), make([]byte, controlSpace)
	for !bytes.HasSuffix(text, []byte("\n")) {
		n, oobn, flags, _, err := c.ReadMsgUnix(buf, oob)
		more, rerr := received(oob[:oobn])
		files = append(files, more...)
		switch {
		case err != nil || rerr != nil:
			return files, errors.Join(err, rerr)
		case n == 0:
			return files, io.ErrUnexpectedEOF
		case flags&truncated != 0:
			return files, errors.New("more files came than a run has")
		}
		if text = append(text, buf[:n]...); len(text) > maxMessage {
			return files, fmt.Errorf("the message is over %d bytes", maxMessage)
		}
	}
	return files, json.Unmarshal(text, message)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// Opened are the listeners of a run, in the process that serves them.
type Opened struct {
	Agents     []net.Listener
	Redirected []net.Listener
	Names      []net.PacketConn
}

// Open makes listeners of the files that came, and closes the files.
func Open(d Doors, files []*os.File) (o Opened, err error) {
	defer closeAll(files)
	if len(files) != len(d.Files) {
		return o, fmt.Errorf("%d files came, and %d were named", len(files), len(d.Files))
	}
	for i, f := range files {
		var ln net.Listener
		var pc net.PacketConn
		switch d.Files[i] {
		case Agents:
			if ln, err = net.FileListener(f); err == nil {
				o.Agents = append(o.Agents, ln)
			}
		case Redirected:
			if ln, err = net.FileListener(f); err == nil {
				o.Redirected = append(o.Redirected, ln)
			}
		case Names:
			if pc, err = net.FilePacketConn(f); err == nil {
				o.Names = append(o.Names, pc)
			}
		default:
			err = fmt.Errorf("nobody knows what %q is", d.Files[i])
		}
		if err != nil {
			o.Close()
			return Opened{}, err
		}
	}
	if len(o.Agents) == 0 {
		o.Close()
		return Opened{}, errors.New("no agents' door came")
	}
	return o, nil
}

// Close closes all of them.
func (o Opened) Close() {
	for _, ln := range append(o.Agents, o.Redirected...) {
		_ = ln.Close()
	}
	for _, pc := range o.Names {
		_ = pc.Close()
	}
}

// Files are the doors as files, which are the caller's to close, and what each is.
func (o Opened) Files() (d Doors, files []*os.File, err error) {
	type filer interface{ File() (*os.File, error) }
	add := func(name string, from any) {
		f, ok := from.(filer)
		if !ok {
			err = errors.Join(err, fmt.Errorf("%T is no socket", from))
			return
		}
		file, ferr := f.File()
		if ferr != nil {
			err = errors.Join(err, ferr)
			return
		}
		d.Files, files = append(d.Files, name), append(files, file)
	}
	for _, ln := range o.Agents {
		add(Agents, ln)
	}
	for _, ln := range o.Redirected {
		add(Redirected, ln)
	}
	for _, pc := range o.Names {
		add(Names, pc)
	}
	if err != nil {
		closeAll(files)
		return Doors{}, nil, err
	}
	return d, files, nil
}
