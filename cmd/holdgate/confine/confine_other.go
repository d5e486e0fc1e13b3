//go:build !linux

package confine

import (
	"errors"
	"net"
	"os"
	"os/exec"
)

// A Sandbox is a confined process; there is none on this system.
type Sandbox struct {
	Agents     net.Listener
	Redirected []net.Listener
	Names      []net.PacketConn
	Calls      *os.File
	Shared     string
}

// Layers are what is private to a confined agent; there are none on this system.
type Layers struct{}

// OpenLayers says that there is no confinement.
func OpenLayers(string, []string) (*Layers, error) { return nil, errNone }

// Dir is empty.
func (*Layers) Dir() string { return "" }

// Keep keeps nothing.
func (*Layers) Keep(string) (int, error) { return 0, errNone }

// Changed is 0.
func (*Layers) Changed(string) int { return 0 }

// Remove does nothing.
func (*Layers) Remove() error { return nil }

var errNone = errors.New("Holdgate confines on Linux only")

// Start says that there is no confinement.
func Start(Spec) (*Sandbox, error) {
	return nil, &MissingError{Part: "confinement", Err: errNone}
}

// Check says that there is no confinement.
func Check(string, []string) error {
	return &MissingError{Part: "confinement", Err: errNone}
}

// Init says that there is no confinement.
func Init([]string) (int, error) { return 0, errNone }

// Terminal is nil.
func (*Sandbox) Terminal() *os.File { return nil }

// Process is nil.
func (*Sandbox) Process() *exec.Cmd { return nil }

// Begin says that there is no confinement.
func (*Sandbox) Begin(Program) error { return errNone }

// Close does nothing.
func (*Sandbox) Close() error { return nil }
