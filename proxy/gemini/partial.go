package gemini

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A tree is an argument that grows from fragments: a JSON path (RFC 9535, of
// which only names and indices occur) and a scalar each. Fragments of a string
// are joined.
type tree struct {
	names   []string
	members map[string]*tree
	items   []*tree
	text    []byte // of a string, as in the JSON, without quotes
	scalar  []byte // anything else
	kind    byte   // '{', '[', '"' or 'v'; 0 where nothing is known yet
}

// maxItems bounds how far an index may reach.
const maxItems = 1 << 16

// add takes a list of partialArgs.
func (t *tree) add(list []byte) error {
	for e, err := range wire.Elements(list) {
		if err == nil {
			err = t.addOne(e.Value)
		}
		if err != nil {
			return fmt.Errorf("partialArgs: %w", err)
		}
	}
	return nil
}

func (t *tree) addOne(object []byte) error {
	var at string
	var name string
	var value []byte
	for m, err := range wire.Members(object) {
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "jsonPath", "json_path":
			if at, err = wire.Text(m.Value); err != nil {
				return err
			}
		case "willContinue", "will_continue":
		default:
			if value != nil {
				return errors.New("a fragment has more than one value")
			}
			name, value = plainName(string(m.Name)), m.Value
		}
	}
	n, err := t.find(at)
	if err != nil {
		return err
	}
	return n.set(name, value)
}

// set gives a node its value, or more of it.
func (t *tree) set(name string, value []byte) error {
	switch {
	case value == nil && t.kind == 0:
		t.kind = '"' // a string of which nothing has come yet
	case value == nil:
	case name == "stringvalue" && value[0] == '"' && (t.kind == 0 || t.kind == '"'):
		t.kind = '"'
		t.text = append(t.text, value[1:len(value)-1]...)
	case name == "nullvalue" && t.kind == 0:
		t.kind, t.scalar = 'v', []byte("null")
	case (name == "numbervalue" || name == "boolvalue") && value[0] != '"' && value[0] != '{' && value[0] != '[' && t.kind == 0:
		t.kind, t.scalar = 'v', value
	default:
		return fmt.Errorf("a fragment has the value %q where none like it may stand", name)
	}
	return nil
}

// find returns the node at a path, made where it is not there.
func (t *tree) find(path string) (*tree, error) {
	rest, ok := strings.CutPrefix(path, "$")
	if !ok || rest == "" {
		return nil, fmt.Errorf("the JSON path %.80q is not understood", path)
	}
	for n := 0; rest != ""; n++ {
		if n == wire.MaxDepth {
			return nil, fmt.Errorf("the JSON path %.80q is too deep", path)
		}
		var step string
		var err error
		switch {
		case strings.HasPrefix(rest, "['") || strings.HasPrefix(rest, `["`):
			end := strings.Index(rest[2:], rest[1:2]+"]")
			if end < 0 || strings.Contains(rest[2:2+end], `\`) {
				return nil, fmt.Errorf("the JSON path %.80q is not understood", path)
			}
			step, rest = rest[2:2+end], rest[end+4:]
			t, err = t.member(step)
		case rest[0] == '[':
			step, rest, ok = strings.Cut(rest[1:], "]")
			i, ierr := strconv.Atoi(step)
			if !ok || ierr != nil {
				return nil, fmt.Errorf("the JSON path %.80q is not understood", path)
			}
			t, err = t.item(i)
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			if step, rest = rest[1:1+end], rest[1+end:]; step == "" || step == "*" {
				return nil, fmt.Errorf("the JSON path %.80q is not understood", path)
			}
			t, err = t.member(step)
		default:
			return nil, fmt.Errorf("the JSON path %.80q is not understood", path)
		}
		if err != nil {
			return nil, fmt.Errorf("the JSON path %.80q: %w", path, err)
		}
	}
	return t, nil
}

var errOtherKind = errors.New("it leads through a value of another kind")

func (t *tree) member(name string) (*tree, error) {
	if t.kind == 0 {
		t.kind, t.members = '{', map[string]*tree{}
	}
	if t.kind != '{' {
		return nil, errOtherKind
	}
	m := t.members[name]
	if m == nil {
		m = &tree{}
		t.members[name] = m
		t.names = append(t.names, name)
	}
	return m, nil
}

func (t *tree) item(i int) (*tree, error) {
	if t.kind == 0 {
		t.kind = '['
	}
	switch {
	case t.kind != '[':
		return nil, errOtherKind
	case i < 0 || i > len(t.items) || i >= maxItems:
		return nil, fmt.Errorf("the index %d leaves a gap", i)
	case i == len(t.items):
		t.items = append(t.items, &tree{})
	}
	return t.items[i], nil
}

// append writes the value as it is so far.
func (t *tree) append(b []byte) []byte {
	switch t.kind {
	case '"':
		return append(append(append(b, '"'), t.text...), '"')
	case 'v':
		return append(b, t.scalar...)
	case '[':
		b = append(b, '[')
		for i, n := range t.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = n.append(b)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i, name := range t.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(wire.AppendText(b, name), ':')
		b = t.members[name].append(b)
	}
	return append(b, '}')
}
