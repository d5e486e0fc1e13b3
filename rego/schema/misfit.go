package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

type object = map[string]any

// A Misfit is a place in a document that is not as its shape says.
type Misfit struct {
	At   []string // the keys that lead there, and the indexes as [0]
	Key  bool     // the key itself is wrong, and not its value
	Text string
}

// Where is the place as people write it, below a root.
func (m Misfit) Where(root string) string {
	at := m.At
	if m.Key {
		at = at[:len(at)-1]
	}
	return strings.ReplaceAll(strings.Join(append([]string{root}, at...), "."), ".[", "[")
}

// A Fitting holds a document against a shape.
type Fitting struct {
	Partly bool // what is required may be missing
	Found  []Misfit
}

func (f *Fitting) fault(at []string, format string, args ...any) {
	f.Found = append(f.Found, Misfit{At: slices.Clone(at), Text: fmt.Sprintf(format, args...)})
}

// Check finds what does not fit.
func (f *Fitting) Check(v any, s *Shape, at []string) {
	if len(s.AnyOf) > 0 {
		s = f.choose(v, s, at)
	}
	if s == nil {
		return
	}
	if len(s.Type) > 0 && !slices.ContainsFunc(s.Type, func(kind string) bool { return isKind(v, kind) }) {
		f.fault(at, "this is %s: want %s", kindOf(v), s.Type)
		return
	}
	switch v := v.(type) {
	case object:
		f.object(v, s, at)
	case []any:
		if n := len(v); n < s.MinItems || s.MaxItems > 0 && n > s.MaxItems {
			f.fault(at, "the list has %d items: want %d to %d", n, s.MinItems, max(s.MaxItems, s.MinItems))
		}
		for i, item := range v {
			if s.Items != nil {
				f.Check(item, s.Items, append(at, fmt.Sprintf("[%d]", i)))
			}
		}
	case string:
		f.word(v, s, at)
	case json.Number:
		n, err := v.Float64()
		if err != nil || s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum {
			f.fault(at, "%s is out of bounds: %s", v, bounds(s))
		}
	}
}

// choose is the alternative that the value was meant for: the one that it fits, or
// else of its type. Nil: it has no fault, or it was noted.
func (f *Fitting) choose(v any, s *Shape, at []string) *Shape {
	var meant *Shape
	for _, one := range s.AnyOf {
		try := Fitting{Partly: f.Partly}
		if try.Check(v, one, at); len(try.Found) == 0 {
			return nil
		}
		if slices.ContainsFunc(one.kinds(), func(kind string) bool { return isKind(v, kind) }) && meant == nil {
			meant = one
		}
	}
	if meant == nil {
		f.fault(at, "this is %s: want %s", kindOf(v), s.kinds())
		return nil
	}
	if len(meant.AnyOf) > 0 {
		return f.choose(v, meant, at)
	}
	return meant
}

func (f *Fitting) object(o object, s *Shape, at []string) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		inside := append(at, key)
		switch known, ok := s.Properties[key]; {
		case ok:
			f.Check(o[key], known, inside)
		case s.Others.none:
			text := fmt.Sprintf("unknown key %q: %s", key, DidYouMean(key, slices.Sorted(maps.Keys(s.Properties))))
			f.Found = append(f.Found, Misfit{At: slices.Clone(inside), Key: true, Text: text})
		case s.Others.like != nil:
			f.Check(o[key], s.Others.like, inside)
		}
	}
	for _, key := range s.Required {
		if _, ok := o[key]; !ok && !f.Partly {
			f.fault(at, "%s is missing", key)
		}
	}
}

func (f *Fitting) word(s string, as *Shape, at []string) {
	if as.Enum != nil && !slices.Contains(as.Enum, s) {
		f.fault(at, "%q is none of %s%s", s, strings.Join(as.Enum, ", "), guess(s, as.Enum))
	}
	if as.Pattern != "" && !regexp.MustCompile(as.Pattern).MatchString(s) {
		f.fault(at, "%q is not as %s", s, as.Pattern)
	}
	if n := utf8.RuneCountInString(s); n < as.MinLength {
		f.fault(at, "%q is too short: want %d characters or more", s, as.MinLength)
	}
	switch as.Format {
	case "regex":
		if _, err := regexp.Compile(s); err != nil {
			f.fault(at, "%q is no regular expression: %v", s, err)
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			f.fault(at, "%q is no time: write it as 2026-01-31T12:00:00Z", s)
		}
	}
}

// guess names the word that was probably meant.
func guess(word string, known []string) string {
	if hint := DidYouMean(word, known); strings.HasPrefix(hint, "did") {
		return ": " + hint
	}
	return ""
}

func bounds(s *Shape) string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("want %v to %v", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		return fmt.Sprintf("want %v or more", *s.Minimum)
	case s.Maximum != nil:
		return fmt.Sprintf("want %v at most", *s.Maximum)
	}
	return "it is no number that can be counted with"
}

// isKind reports whether a value is of a type of JSON Schema's.
func isKind(v any, kind string) bool {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Float64()
		return kind == "number" || kind == "integer" && err == nil && n == math.Trunc(n)
	case nil:
		return kind == "null"
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case []any:
		return kind == "array"
	case object:
		return kind == "object"
	}
	return false
}

// kindOf is what a value is, in words.
func kindOf(v any) string {
	if v == nil {
		return "null"
	}
	for _, kind := range []string{"string", "boolean", "integer", "number", "array", "object"} {
		if isKind(v, kind) {
			return typeWords[kind]
		}
	}
	return "of no type of JSON"
}
