//go:build linux && !amd64

package undo

// older are the calls that newer processors do not have.
var older = map[uint32]func(*call) result{}
