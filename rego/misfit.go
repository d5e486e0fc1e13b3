package rego

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

// A misfit is a place in a document that is not as its shape says.
type misfit struct {
	at   []string // the keys that lead there, and the indexes as [0]
	key  bool     // the key itself is wrong, and not its value
	text string
}

// where is the place as people write it, below a root.
func (m misfit) where(root string) string {
	at := m.at
	if m.key {
		at = at[:len(at)-1]
	}
	return strings.ReplaceAll(strings.Join(append([]string{root}, at...), "."), ".[", "[")
}

// A fitting holds a document against a shape.
type fitting struct {
	partly bool // what is required may be missing
	found  []misfit
}

func (f *fitting) fault(at []string, format string, args ...any) {
	f.found = append(f.found, misfit{at: slices.Clone(at), text: fmt.Sprintf(format, args...)})
}

// check finds what does not fit.
func (f *fitting) check(v any, s *shape, at []string) {
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
				f.check(item, s.Items, append(at, fmt.Sprintf("[%d]", i)))
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
func (f *fitting) choose(v any, s *shape, at []string) *shape {
	var meant *shape
	for _, one := range s.AnyOf {
		try := fitting{partly: f.partly}
		if try.check(v, one, at); len(try.found) == 0 {
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

func (f *fitting) object(o object, s *shape, at []string) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		inside := append(at, key)
		switch known, ok := s.Properties[key]; {
		case ok:
			f.check(o[key], known, inside)
		case s.Others.none:
			text := fmt.Sprintf("unknown key %q: %s", key, didYouMean(key, slices.Sorted(maps.Keys(s.Properties))))
			f.found = append(f.found, misfit{at: slices.Clone(inside), key: true, text: text})
		case s.Others.like != nil:
			f.check(o[key], s.Others.like, inside)
		}
	}
	for _, key := range s.Required {
		if _, ok := o[key]; !ok && !f.partly {
			f.fault(at, "%s is missing", key)
		}
	}
}

func (f *fitting) word(s string, as *shape, at []string) {
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
	if hint := didYouMean(word, known); strings.HasPrefix(hint, "did") {
		return ": " + hint
	}
	return ""
}

func bounds(s *shape) string {
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
