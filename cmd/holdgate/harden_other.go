//go:build !linux

package main

// hardenProcess does nothing where the system has no such switch.
func hardenProcess() {}
