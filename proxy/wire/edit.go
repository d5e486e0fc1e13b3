package wire

import (
	"bytes"
	"fmt"
	"strconv"
)

// Apart stands between a text of Holdgate's own and other text.
const Apart = "\n\n"

// TextIn returns what the string says that is an object's member of this name.
// It is empty where there is no such string.
func TextIn(object []byte, name string) string {
	text, _ := Text(Find(object, name))
	return text
}

// Quote returns a text as a JSON string, as [AppendText] does.
func Quote(text string) string { return string(AppendText(nil, text)) }

// Ordinal reads a whole number that is not negative: digits and nothing else.
func Ordinal(value []byte) (int, error) {
	n, err := strconv.ParseUint(string(value), 10, 31)
	if err != nil {
		return 0, fmt.Errorf("a whole number was expected, not %.20q", value)
	}
	return int(n), nil
}

// EditMember returns an object in which edit has changed one member. Where the
// object has no such member, it stays as it is.
func EditMember(object []byte, name string, edit func(value []byte) []byte) []byte {
	return RewriteMembers(object, func(m Member) []byte {
		if string(m.Name) == name {
			return edit(m.Value)
		}
		return m.Value
	})
}

// SetMember returns an object in which a member has this value. A member that
// the object does not have comes at its end.
func SetMember(object []byte, name string, value []byte) []byte {
	if Find(object, name) == nil {
		return AppendMember(bytes.TrimSpace(object), name, value)
	}
	return EditMember(object, name, func([]byte) []byte { return value })
}

// WithoutMember returns an object without one of its members.
func WithoutMember(object []byte, name string) []byte {
	return EditMember(object, name, func([]byte) []byte { return nil })
}

// List returns the values of an array that may be absent or null.
func List(array []byte) (values [][]byte, err error) {
	err = EachElement(array, func(value []byte) error {
		values = append(values, value)
		return nil
	})
	return values, err
}

// Array returns an array of these values.
func Array(values ...[]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}

// An Object is one that grows: its members in the order in which they first came.
// The zero value is empty.
type Object []NamedValue

// A NamedValue is a member of an [Object].
type NamedValue struct {
	Name  string
	Value []byte
}

// ObjectOf returns the members of an object that has passed [Strict].
func ObjectOf(object []byte) (Object, error) {
	var o Object
	for m, err := range Members(object) {
		if err != nil {
			return nil, err
		}
		o = append(o, NamedValue{string(m.Name), m.Value})
	}
	return o, nil
}

// Value returns the value of a member, or nil.
func (o Object) Value(name string) []byte {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Set gives a member a value, at the end where there was no such member.
func (o *Object) Set(name string, value []byte) {
	for i := range *o {
		if (*o)[i].Name == name {
			(*o)[i].Value = value
			return
		}
	}
	*o = append(*o, NamedValue{name, value})
}

// AppendMembers appends the members, each with a comma before it.
func (o Object) AppendMembers(dst []byte) []byte {
	for _, m := range o {
		dst = append(AppendText(append(dst, ','), m.Name), ':')
		dst = append(dst, m.Value...)
	}
	return dst
}

// JSON returns the object. The values keep their bytes.
func (o Object) JSON() []byte {
	out := o.AppendMembers([]byte{'{'})
	if len(o) > 0 {
		out = append(out[:1], out[2:]...) // the first comma
	}
	return append(out, '}')
}
