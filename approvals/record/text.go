package record

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxText is how long what a person writes may be, in bytes.
const MaxText = 8 << 10

// ErrAnswer says that a request cannot be answered as a person wants.
var ErrAnswer = errors.New("this request cannot be answered that way")

// Bounded returns an error that wraps [ErrAnswer] for a text that is too long, or none.
func Bounded(name, s string, limit int) error {
	if len(s) > limit {
		return fmt.Errorf("%w: the %s has %d bytes, at most %d", ErrAnswer, name, len(s), limit)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%w: the %s is not UTF-8", ErrAnswer, name)
	}
	return nil
}
