//go:build !linux

package sdk

// harden does nothing: other systems protect a process by themselves, or have
// no such call.
func harden() {}
