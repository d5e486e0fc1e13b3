//go:build !linux

package socket

import "os"

func shorten(path string) (string, *os.File, error) { return "", nil, &TooLongError{path} }
