package sessions

import (
	"errors"
	"fmt"
)

// Mode says which calls of a session are asked about, besides those that rules
// ask about anyway.
type Mode string

// The modes.
const (
	ModeAuto      Mode = "auto"                 // none
	ModeThreshold Mode = "confidence_threshold" // those below a confidence, or without one
	ModeManual    Mode = "manual"               // each call of a tool
)

// A Setting is a mode and, in mode confidence_threshold, the line: from 0 to 1,
// where 0 is the policy's own. The zero value says nothing.
type Setting struct {
	Mode      Mode    `json:"mode,omitempty" yaml:"mode"`
	Threshold float64 `json:"confidence_threshold,omitempty" yaml:"confidence_threshold"`
}

// ErrSetting says that a setting is none.
var ErrSetting = errors.New("no such mode")

// Check returns an error that wraps [ErrSetting] and names the field which is
// wrong.
func (s Setting) Check() error {
	switch s.Mode {
	case ModeAuto, ModeThreshold, ModeManual:
	default:
		return fmt.Errorf("%w: mode must be auto, manual or confidence_threshold, not %q", ErrSetting, s.Mode)
	}
	if !(s.Threshold >= 0 && s.Threshold <= 1) {
		return fmt.Errorf("%w: confidence_threshold must be from 0 to 1", ErrSetting)
	}
	if s.Threshold > 0 && s.Mode != ModeThreshold {
		return fmt.Errorf("%w: confidence_threshold is for mode confidence_threshold", ErrSetting)
	}
	return nil
}

// rank orders modes by how much they ask. What is not known asks most.
func (m Mode) rank() int {
	switch m {
	case "", ModeAuto:
		return 0
	case ModeThreshold:
		return 1
	case ModeManual:
		return 2
	}
	return 3
}

// asksAsMuch reports whether s asks about all that o does, as far as that can be
// told: where one line is the policy's own only the same can.
func (s Setting) asksAsMuch(o Setting) bool {
	if s.Mode.rank() != o.Mode.rank() {
		return s.Mode.rank() > o.Mode.rank()
	}
	return s.Mode != ModeThreshold || s.Threshold == o.Threshold || o.Threshold > 0 && s.Threshold > o.Threshold
}

// or is the setting where it says something, else the other.
func (s Setting) or(o Setting) Setting {
	if s.Mode == "" {
		s = o
	}
	if s.Mode == "" {
		s.Mode = ModeAuto
	}
	return s
}
