package install

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// An object is one of JSON whose members keep their order, and their text where they are
// not changed.
type object []member

type member struct {
	name  string
	value jsontext.Value
}

// readObject reads an object; nothing at all is an empty one.
func readObject(text []byte) (o object, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(text))
	if d.PeekKind() != '{' {
		return nil, errors.New("it is no JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		m.value = value.Clone()
		o = append(o, m)
	}
	_, err = d.ReadToken()
	return o, err
}

// readList reads the values of an array; nothing at all is an empty one.
func readList(text jsontext.Value) (list []jsontext.Value, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(text))
	if d.PeekKind() != '[' {
		return nil, fmt.Errorf("%.40s is no list", text)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		list = append(list, v.Clone())
	}
	return list, nil
}

func (o object) get(name string) jsontext.Value {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// set puts a member where it stands or behind the others; a nil value takes it out.
func (o object) set(name string, value jsontext.Value) object {
	for i, m := range o {
		if m.name != name {
			continue
		}
		if value == nil {
			return append(o[:i:i], o[i+1:]...)
		}
		o[i].value = value
		return o
	}
	if value == nil {
		return o
	}
	return append(o, member{name, value})
}

// text is the object as JSON.
func (o object) text() jsontext.Value {
	b := []byte("{")
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, m.name) // it was read as a text
		b = append(append(b, ':'), m.value...)
	}
	return append(b, '}')
}

// listText is a list as JSON.
func listText(list []jsontext.Value) jsontext.Value {
	b := []byte("[")
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}
