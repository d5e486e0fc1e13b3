package wire

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate"
)

// CanonicalWithout returns the canonical form of an object (see
// [holdgate.Canonical]) without the members of these names: what tells whether
// a request is the same as an earlier one, where those members may differ. The
// body must have passed [Strict]; what is no object is an error.
func CanonicalWithout(body []byte, names ...string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for m, err := range Members(body) {
		if err != nil {
			return nil, fmt.Errorf("reading the members of a request: %w", err)
		}
		if slices.Contains(names, string(m.Name)) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(body[m.Start:m.End])
	}
	b.WriteByte('}')
	return holdgate.Canonical(b.Bytes())
}
