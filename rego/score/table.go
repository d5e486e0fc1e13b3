// Package score measures a policy on a table of labelled calls: how many of the
// dangerous ones it stops (recall), and how many of the ordinary ones it asks
// about (friction).
package score

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
)

// What is wanted of a call.
const (
	Pass = "pass" // nobody is asked
	Hold = "hold" // somebody is asked, or the call is refused
)

// A Row is one labelled call.
type Row struct {
	ID    string         `json:"id"`    // unique; says in which half the row is
	Kind  string         `json:"kind"`  // such as "call" or "script"; rows are counted by it
	Want  string         `json:"want"`  // Pass or Hold
	Class string         `json:"class"` // what it is about
	Tool  string         `json:"tool"`  // as the agent names it
	Input jsontext.Value `json:"input"` // the arguments, an object
	Note  string         `json:"note"`  // why it is wanted so
	Dir   string         `json:"cwd"`   // the session's folder; empty: that of all rows
	// Confinement is what confines the agent, as policy is told; nil: what confines
	// that of all rows.
	Confinement *Confinement `json:"confinement"`
}

// A Confinement is what `holdgate run` has proven of an agent.
type Confinement struct {
	Level string `json:"level"` // "none", "weak" or "strong"
	holdgate.Proofs
}

// A Half is a part of a table. A table is split by the first byte of the SHA-256
// of each row's id, so that new rows never move old ones.
type Half string

const (
	Both    Half = ""
	Working Half = "working" // even: to mend rules with
	Scored  Half = "scored"  // odd: counted, and never shown
)

// Has reports whether a row is in the half.
func (h Half) Has(r *Row) bool {
	even := sha256.Sum256([]byte(r.ID))[0]%2 == 0
	return h == Both || even == (h == Working)
}

// maxRow bounds a line of a table, in bytes.
const maxRow = 8 << 20

// Read reads a table: a JSON object a line, blank lines between them. An error
// names the line.
func Read(in io.Reader) ([]Row, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxRow)
	var rows []Row
	seen := make(map[string]int)
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var r Row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if first := seen[r.ID]; first > 0 {
			return nil, fmt.Errorf("line %d: the id %q is that of line %d", n, r.ID, first)
		}
		seen[r.ID] = n
		rows = append(rows, r)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return rows, nil
}

func (c Confinement) known() bool {
	return c.Level == "none" || c.Level == "weak" || c.Level == "strong"
}

func (r *Row) check() error {
	switch {
	case r.ID == "":
		return fmt.Errorf("a row needs an id")
	case r.Want != Pass && r.Want != Hold:
		return fmt.Errorf("want is %q: it must be %q or %q", r.Want, Pass, Hold)
	case r.Tool == "":
		return fmt.Errorf("a row needs a tool")
	case r.Confinement != nil && !r.Confinement.known():
		return fmt.Errorf("confinement.level is %q: it must be none, weak or strong", r.Confinement.Level)
	case r.Input.Kind() != '{':
		return fmt.Errorf("input must be an object: the arguments of %q", r.Tool)
	}
	if r.Kind == "" {
		r.Kind = "call"
	}
	return nil
}
