//go:build !linux

package cli

// hardenProcess does nothing where the system has no such switch.
func hardenProcess() {}
