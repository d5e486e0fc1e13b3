package holdgate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// A Definition is what an MCP server says of one of its tools. All of it is the
// server's word.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`      // inputSchema, as written
	Annotations json.RawMessage `json:"annotations,omitempty"` // as written
}

// Hash names what the definition says, however its JSON is written: SHA-256 in
// hex. Schema and Annotations must be strict JSON or nil.
func (d Definition) Hash() (string, error) {
	b := appendField(appendField(nil, d.Name), d.Description)
	for _, part := range []json.RawMessage{d.Schema, d.Annotations} {
		if part == nil {
			b = append(b, '-')
			continue
		}
		canon, err := Canonical(part)
		if err != nil {
			return "", fmt.Errorf("hashing the definition of %s: %w", d.Name, err)
		}
		b = appendField(b, string(canon))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// Learned is what is known of a tool from its server's lists at the moment at
// which a call of it is judged.
type Learned struct {
	// Server and Tool are what the call's name stands for: a model's side of it
	// may call the tool otherwise.
	Server, Tool string
	// Definition is the hash of what the server said last.
	Definition string
	// Hints are the annotations of the protocol that the server gave a truth
	// value: readOnlyHint, destructiveHint, idempotentHint, openWorldHint.
	Hints map[string]bool
	// Changed says that what the server said last is not what it said first,
	// and that no person has accepted it since. Was, where it has changed, and Is
	// are both, where they are known.
	Changed bool
	Was, Is *Definition
	// Configured says that the configuration has the server, which has said itself
	// what the tool is, and that the call names them both.
	Configured bool
	// Remote says that calls of the server leave this machine.
	Remote bool
	// Reads says that the tool only reads by all that its server says of it, and
	// that the call has no argument besides. Nobody has proven it.
	Reads bool
	// Unread says why the server's last list could not be read, where it could
	// not: then nobody knows what it says of its tools, and all count as changed.
	Unread string
	// Shadows are the other servers that have a tool of this name.
	Shadows []string
	// Schema says whether the arguments fit the tool's schema.
	Schema Fit
	// Misfits say where and by which keyword of the schema they do not. They
	// hold no values.
	Misfits []string
}

// A Fit says whether arguments are what a schema asks for.
type Fit string

// How arguments fit a schema. The empty value is that there is none.
const (
	FitWhole     Fit = "fits"
	FitNot       Fit = "misfits"
	FitUnchecked Fit = "unchecked" // the schema cannot be used, or takes too long
)
