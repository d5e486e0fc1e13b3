//go:build !linux

package run

// harden does nothing where the system has no such switch.
func harden() {}
