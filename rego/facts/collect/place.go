package collect

import (
	"strconv"
	"strings"
)

// A Place is where in a call something stands: nil is the whole. It is written
// out as a pointer only where something is found, which is seldom.
type Place struct {
	In     *Place
	Key    string
	Index  int
	Listed bool // index counts, and not key
	Text   bool // what is below stands written out in this one text, which has no pointers of its own
}

// pointer is the place as a JSON pointer (RFC 6901).
func (p *Place) pointer() string {
	for q := p; q != nil; q = q.In {
		if q.Text {
			p = q
		}
	}
	switch {
	case p == nil:
		return ""
	case p.Listed:
		return p.In.pointer() + "/" + strconv.Itoa(p.Index)
	}
	return p.In.pointer() + "/" + pointerEscape.Replace(p.Key)
}

// pointerEscape writes a key as a token of a JSON pointer.
var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")
