package gemini

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A response is one GenerateContentResponse as far as calls are concerned.
type response struct {
	wrapped    bool // in {"response": ...}, as Code Assist has it
	known      bool // it has a member of the format
	candidates []candidate
	usage      []byte
}

// A candidate is one element of candidates.
type candidate struct {
	index     int // which candidate of the answer it goes on with
	text      bool
	fragments []fragment // of calls, in order
}

// A fragment is a part of a candidate's content that is a call, or goes on
// with one.
type fragment struct {
	part      int    // its place among the parts
	raw       []byte // the part
	member    string // the name of the member that is the call
	value     []byte // its value
	signature bool   // the part has a thought signature
	textFirst bool   // a part with text stands before it
	call      *call  // that it belongs to, once known
}

// readResponse reads a response. The data must have passed [wire.Strict] or
// [wire.StrictEvent].
func readResponse(data []byte) (*response, error) {
	r := &response{}
	if err := r.read(data, true); err != nil {
		return nil, err
	}
	if !r.known {
		return nil, errors.New("it is no GenerateContentResponse")
	}
	return r, nil
}

func (r *response) read(object []byte, outer bool) error {
	for m, err := range wire.Members(object) {
		if err != nil {
			return err
		}
		switch name := string(m.Name); {
		case name == "candidates":
			r.known = true
			err = r.readCandidates(m.Value)
		case name == "response" && outer:
			if r.wrapped = !wire.IsNull(m.Value); r.wrapped {
				r.known = true
				err = r.read(m.Value, false)
			}
		case name == "usageMetadata":
			r.known, r.usage = true, m.Value
		case name == "error" || name == "promptFeedback" || name == "modelVersion" || name == "responseId":
			r.known = true
		default:
			err = noCall(m, "candidates", "response")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *response) readCandidates(list []byte) error {
	if wire.IsNull(list) {
		return nil
	}
	if len(r.candidates) > 0 {
		return errors.New("there are candidates inside and outside of the response")
	}
	for e, err := range wire.Elements(list) {
		if err != nil {
			return err
		}
		c := candidate{index: len(r.candidates)}
		if err := c.read(e.Value); err != nil {
			return fmt.Errorf("candidate %d: %w", c.index, err)
		}
		r.candidates = append(r.candidates, c)
	}
	return nil
}

func (c *candidate) read(object []byte) error {
	for m, err := range wire.Members(object) {
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "index":
			if !wire.IsNull(m.Value) {
				if c.index, err = strconv.Atoi(string(m.Value)); err != nil {
					err = fmt.Errorf("its index is %.20q", m.Value)
				}
			}
		case "content":
			if !wire.IsNull(m.Value) {
				err = c.readContent(m.Value)
			}
		default:
			err = noCall(m, "index", "content")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *candidate) readContent(object []byte) error {
	for m, err := range wire.Members(object) {
		switch {
		case err != nil:
			return err
		case string(m.Name) != "parts":
			err = noCall(m, "parts")
		case !wire.IsNull(m.Value):
			n := 0
			for e, eerr := range wire.Elements(m.Value) {
				if eerr == nil {
					eerr = c.readPart(n, e.Value)
				}
				if eerr != nil {
					return eerr
				}
				n++
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readPart reads a part. One that is more than one call is refused.
func (c *candidate) readPart(n int, part []byte) error {
	f := fragment{part: n, raw: part, textFirst: c.text}
	for m, err := range wire.Members(part) {
		if err != nil {
			return err
		}
		if string(m.Name) == "text" {
			c.text = c.text || len(m.Value) > len(`""`)
			continue
		}
		name := string(m.Name)
		switch plain := plainName(name); {
		case plain == "thoughtsignature":
			f.signature = !wire.IsNull(m.Value)
		case !speaksOfCall(plain):
			if err := noCall(m, "text"); err != nil {
				return err
			}
		case wire.IsNull(m.Value):
		case !knownSpelling(name, plain):
			return fmt.Errorf("a part has %q, which clients could read differently", name)
		case f.member != "":
			return fmt.Errorf("a part has both %q and %q", f.member, name)
		default:
			f.member, f.value = name, m.Value
		}
	}
	if f.member != "" {
		c.fragments = append(c.fragments, f)
	}
	return nil
}

// speaksOfCall reports whether the member of a part is a call, by its name
// without case and underscores.
func speaksOfCall(plain string) bool {
	return strings.Contains(plain, "call") || plain == memberCode
}

// Members of parts, by name without case and underscores.
const (
	memberFunction = "functioncall"
	memberTool     = "toolcall"       // the provider's
	memberCode     = "executablecode" // the provider has run it
)

// knownSpelling reports whether a name that is known is spelled as proto JSON
// has it. Names that are not known have no spelling of their own.
func knownSpelling(name, plain string) bool {
	spellings, known := map[string][2]string{
		memberFunction: {"functionCall", "function_call"},
		memberTool:     {"toolCall", "tool_call"},
		memberCode:     {"executableCode", "executable_code"},
	}[plain]
	return !known || name == spellings[0] || name == spellings[1]
}

// noCall refuses a member in whose place no call belongs but that could be
// one, and one that differs from a known name in case only.
func noCall(m wire.Member, known ...string) error {
	const mark = "functioncall"
	if len(m.Name) >= len(mark) && !wire.IsNull(m.Value) && strings.Contains(plainName(string(m.Name)), mark) {
		return fmt.Errorf("there is a %q where no call belongs", m.Name)
	}
	if err := wire.HiddenMember(m); err != nil {
		return err
	}
	return wire.KnownName(m, known...)
}
