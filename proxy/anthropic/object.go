package anthropic

import (
	"bytes"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// An edit puts a text in the place of some bytes.
type edit struct {
	at   span
	text string
}

// apply returns a copy of b with the edits made, which must not overlap. Every
// other byte stays the same.
func apply(b []byte, edits []edit) []byte {
	edits = slices.SortedFunc(slices.Values(edits), func(x, y edit) int { return x.at.start - y.at.start })
	out := make([]byte, 0, len(b))
	done := 0
	for _, e := range edits {
		out = append(out, b[done:e.at.start]...)
		out = append(out, e.text...)
		done = e.at.end
	}
	return append(out, b[done:]...)
}

// replaced returns a copy of an object in which the value at the path is
// another one, and every other byte is the same. Where there is no such value
// it returns the object itself.
func replaced(object, value []byte, path ...string) []byte {
	for m, err := range wire.Members(object) {
		if err != nil {
			return object
		}
		if string(m.Name) != path[0] {
			continue
		}
		if len(path) > 1 {
			value = replaced(m.Value, value, path[1:]...)
		}
		return bytes.Join([][]byte{object[:m.ValueStart], value, object[m.End:]}, nil)
	}
	return object
}

// A fieldset is an object that is being put together: its members in order.
type fieldset []field

type field struct {
	name  string
	value []byte
}

// fieldsOf returns the members of an object that has passed [wire.Strict].
func fieldsOf(object []byte) (fieldset, error) {
	var f fieldset
	for m, err := range wire.Members(object) {
		if err != nil {
			return nil, err
		}
		f = append(f, field{string(m.Name), m.Value})
	}
	return f, nil
}

// value returns the value of a member, or nil.
func (f fieldset) value(name string) []byte {
	for _, m := range f {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// set gives a member a value, at the end where there was no such member.
func (f *fieldset) set(name string, value []byte) {
	for i := range *f {
		if (*f)[i].name == name {
			(*f)[i].value = value
			return
		}
	}
	*f = append(*f, field{name, value})
}

// json returns the object. The values stay byte for byte.
func (f fieldset) json() []byte {
	out := []byte{'{'}
	for i, m := range f {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, quote(m.name)...)
		out = append(out, ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}
