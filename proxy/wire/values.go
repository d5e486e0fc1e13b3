package wire

import (
	"bytes"
	"fmt"
)

// IsNull reports whether a member is absent (no bytes) or null. The value is as
// [Members] yields it.
func IsNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// IsEmpty reports whether a value says nothing: it is absent, null, or an empty
// string, array or object.
func IsEmpty(value []byte) bool {
	switch {
	case IsNull(value):
		return true
	case value[0] == '"':
		return len(value) == len(`""`)
	case value[0] == '[', value[0] == '{':
		return len(bytes.TrimSpace(value[1:len(value)-1])) == 0
	}
	return false
}

// TextOrNull is [Text] for a member that may be absent or null, and then says
// nothing.
func TextOrNull(value []byte) (string, error) {
	if IsNull(value) {
		return "", nil
	}
	return Text(value)
}

// Inside returns a JSON string without its quotes, with the escapes in it; nothing where
// the member is absent or null. Pieces of a text can be joined so: a piece may end inside
// a pair of escapes.
func Inside(value []byte) ([]byte, error) {
	if IsNull(value) {
		return nil, nil
	}
	if value[0] != '"' {
		return nil, fmt.Errorf("a string was expected, not %s", KindOf(value))
	}
	return value[1 : len(value)-1 : len(value)-1], nil
}

// BoolOrNull returns what true or false says; absent and null say false. Every
// other value is an error.
func BoolOrNull(value []byte) (bool, error) {
	if IsNull(value) {
		return false, nil
	}
	if k := value[0]; k != 't' && k != 'f' {
		return false, fmt.Errorf("true or false was expected, not %s", KindOf(value))
	}
	return value[0] == 't', nil
}

// EachElement calls f for each element of an array that may be absent or null,
// in order, until f returns an error, and returns that. What is no array is an
// error.
func EachElement(array []byte, f func(value []byte) error) error {
	if IsNull(array) {
		return nil
	}
	for e, err := range Elements(array) {
		if err == nil {
			err = f(e.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
