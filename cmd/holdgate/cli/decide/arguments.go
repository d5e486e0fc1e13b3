package decide

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// setArgument carries out one --set: PATH=TEXT or PATH:=JSON. Everything else
// stays as it is written.
func setArgument(args jsontext.Value, arg string) (jsontext.Value, error) {
	path, text, ok := strings.Cut(arg, "=")
	if !ok || strings.TrimSuffix(path, ":") == "" {
		return nil, command.Usage("--set %q: want PATH=TEXT or PATH:=JSON", arg)
	}
	quoted, err := jsontext.AppendQuote(nil, text)
	value := jsontext.Value(quoted)
	if name, isJSON := strings.CutSuffix(path, ":"); isJSON {
		path, value = name, jsontext.Value(text)
		err = value.Compact()
	}
	if err != nil {
		return nil, command.Usage("--set %s: the value is not JSON: %s", path, plainJSON(err))
	}
	out, err := setAt(args, steps(path), value)
	if err != nil {
		return nil, command.Usage("--set %s: %v", path, err)
	}
	return out, nil
}

// steps splits a path: a JSON pointer (RFC 6901), or names with dots between.
func steps(path string) []string {
	rest, pointer := strings.CutPrefix(path, "/")
	if !pointer {
		return strings.Split(path, ".")
	}
	list := strings.Split(rest, "/")
	for i, s := range list {
		list[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return list
}

var errNoPlace = errors.New("the arguments have no such place; --set changes what is there, --arguments adds new ones")

// setAt returns v with the value at the place that the steps lead to, which is
// there already: a name that was mistyped must not become an argument.
func setAt(v jsontext.Value, steps []string, value jsontext.Value) (jsontext.Value, error) {
	if len(steps) == 0 {
		return value, nil
	}
	kind := v.Kind()
	if kind != '{' && kind != '[' {
		return nil, errNoPlace
	}
	var items []string
	found := false
	err := eachItem(v, func(name string, item jsontext.Value) (err error) {
		if name == steps[0] {
			found = true
			if item, err = setAt(item, steps[1:], value); err != nil {
				return err
			}
		}
		items = append(items, written(kind, name, item))
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, errNoPlace
	}
	if kind == '[' {
		return jsontext.Value("[" + strings.Join(items, ",") + "]"), nil
	}
	return jsontext.Value("{" + strings.Join(items, ",") + "}"), nil
}

// written is an item as it stands in an object or a list.
func written(kind jsontext.Kind, name string, item jsontext.Value) string {
	if kind == '[' {
		return string(item)
	}
	quoted, _ := jsontext.AppendQuote(nil, name) // of what was valid UTF-8, or is made so
	return string(quoted) + ":" + string(item)
}

// eachItem calls fn for each member of an object, by its name, or item of a
// list, by its number, in order.
func eachItem(v jsontext.Value, fn func(name string, item jsontext.Value) error) error {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for n := 0; dec.PeekKind() != '}' && dec.PeekKind() != ']'; n++ {
		name := strconv.Itoa(n)
		if v.Kind() == '{' {
			key, err := dec.ReadToken()
			if err != nil {
				return err
			}
			name = key.String()
		}
		item, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := fn(name, item.Clone()); err != nil {
			return err
		}
	}
	return nil
}

// plainJSON says what is wrong with JSON without naming packages.
func plainJSON(err error) string { return strings.TrimPrefix(err.Error(), "jsontext: ") }
