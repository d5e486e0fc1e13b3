package verdict

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate/rego/schema"
)

var errUnknownField = errors.New("no such field")

// eachField calls fn for every field of an object, and puts the field's name
// before its error. What is where the object stands in a decision.
func eachField(v ast.Value, what string, fn func(name string, v ast.Value) error) error {
	o, ok := v.(ast.Object)
	if !ok {
		return fmt.Errorf("%s is of type %s: want an object", what, ast.ValueName(v))
	}
	return o.Iter(func(k, v *ast.Term) error {
		name, ok := k.Value.(ast.String)
		if !ok {
			return fmt.Errorf("%s has a field that is no string: %v", what, k)
		}
		switch err := fn(string(name), v.Value); {
		case errors.Is(err, errUnknownField):
			return fmt.Errorf("%s has no field %q: %s", what, string(name), schema.DidYouMean(string(name), schema.FieldsOf(what)))
		case err != nil && strings.HasPrefix(err.Error(), what+"."+string(name)):
			return err // it names the field within
		case err != nil:
			return fmt.Errorf("%s.%s: %w", what, string(name), err)
		}
		return nil
	})
}

// eachItem calls fn for every item of an array or set.
func eachItem(v ast.Value, fn func(ast.Value) error) error {
	switch v := v.(type) {
	case *ast.Array:
		return v.Iter(func(t *ast.Term) error { return fn(t.Value) })
	case ast.Set:
		return v.Iter(func(t *ast.Term) error { return fn(t.Value) })
	}
	return fmt.Errorf("is of type %s: want a list", ast.ValueName(v))
}

func Text(v ast.Value) (string, error) {
	if s, ok := v.(ast.String); ok {
		return string(s), nil
	}
	return "", fmt.Errorf("is of type %s: want a string", ast.ValueName(v))
}

func Texts(v ast.Value) ([]string, error) {
	var list []string
	err := eachItem(v, func(v ast.Value) error {
		s, err := Text(v)
		list = append(list, s)
		return err
	})
	return list, err
}

func boolean(v ast.Value) (bool, error) {
	if b, ok := v.(ast.Boolean); ok {
		return bool(b), nil
	}
	return false, fmt.Errorf("is of type %s: want true or false", ast.ValueName(v))
}

// count reads a whole number that is not negative.
func count(v ast.Value) (int, error) {
	if n, ok := v.(ast.Number); ok {
		if i, err := strconv.Atoi(string(n)); err == nil && i >= 0 {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%v is no count: want a whole number, 0 or more", v)
}

func oneOf[T ~string](v ast.Value, known ...T) (T, error) {
	s, err := Text(v)
	if err == nil && !slices.Contains(known, T(s)) {
		words := make([]string, len(known))
		for i, k := range known {
			words[i] = string(k)
		}
		err = fmt.Errorf("%q is not known: %s", s, schema.DidYouMean(s, words))
	}
	return T(s), err
}
