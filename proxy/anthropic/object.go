package anthropic

import "github.com/holdgate/holdgate/proxy/wire"

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
