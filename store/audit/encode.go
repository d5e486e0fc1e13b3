package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
)

// hashMember is what stands between an entry's canonical form and its hash, at
// the end of a stored line.
const hashMember = `,"hash":"`

// lineTail is the length of that member, its value, and the closing brace.
const lineTail = len(hashMember) + 2*sha256.Size + len(`"}`)

// usualLine is room for the line of most entries, their input apart.
const usualLine = 768

// encode returns an entry's line, which is its canonical form with the hash
// behind it, and the hash. The entry's Input and Seen must be canonical.
func encode(e Entry) (line []byte, hash string, err error) {
	line, err = appendEntry(make([]byte, 0, usualLine+len(e.Input)+len(e.Seen)), &e)
	if err != nil {
		return nil, "", fmt.Errorf("encoding an entry: %w", err)
	}
	hash = hashOf(line)
	line = append(line[:len(line)-1], hashMember...)
	line = append(line, hash...)
	return append(line, `"}`...), hash, nil
}

// canonicalized puts the entry's Input and Seen into the form in which they are
// stored.
func (e *Entry) canonicalized() (err error) {
	if e.Input, err = canonicalInput(e.Input); err != nil {
		return err
	}
	if e.Seen, err = canonicalInput(e.Seen); err != nil {
		return fmt.Errorf("what policy saw: %w", err)
	}
	return nil
}

// canonicalInput returns an entry's input in the form in which it is stored.
func canonicalInput(in json.RawMessage) (json.RawMessage, error) {
	if len(in) == 0 {
		return nil, nil
	}
	if canon, ok := holdgate.StrictCanonical(in); ok {
		return canon, nil
	}
	if !jsontext.Value(in).IsValid() {
		return nil, errors.New("the entry's input is not strict JSON")
	}
	return holdgate.Canonical(in)
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// decode returns the entry of a stored line.
func decode(line []byte) (e Entry, err error) {
	if err := jsonv2.Unmarshal(line, &e); err != nil {
		return Entry{}, fmt.Errorf("reading an entry: %w", err)
	}
	return e, nil
}

// unhash returns the canonical form of a line without its hash member. The line
// must be a strict JSON object.
func unhash(line []byte) ([]byte, error) {
	if cut := len(line) - lineTail; cut > 0 && bytes.HasPrefix(line[cut:], []byte(hashMember)) && isHash(string(line[cut+len(hashMember):len(line)-2])) {
		body := append(bytes.Clone(line[:cut]), '}')
		if holdgate.IsCanonical(body) {
			return body, nil
		}
	}
	var members map[string]json.RawMessage
	if err := jsonv2.Unmarshal(line, &members); err != nil {
		return nil, err
	}
	delete(members, "hash")
	body, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	return holdgate.Canonical(body)
}
