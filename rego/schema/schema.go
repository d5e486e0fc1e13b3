// Package schema says how input, decisions and settings are shaped, by the pack's
// JSON schemas, and what of a value does not fit.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/policies"
)

// A Shape is what a JSON Schema of the pack's says of one value. It has the words
// that those schemas use; another one there is an error.
type Shape struct {
	Schema  string            `json:"$schema"`
	Title   string            `json:"title"`
	About   string            `json:"description"`
	Ref     string            `json:"$ref"` // taken away by resolve
	Default json.RawMessage   `json:"default"`
	Defined map[string]*Shape `json:"definitions"`

	Type       Types             `json:"type"`
	AnyOf      []*Shape          `json:"anyOf"`
	Enum       []string          `json:"enum"`
	Pattern    string            `json:"pattern"`
	Format     string            `json:"format"` // regex or date-time
	MinLength  int               `json:"minLength"`
	Properties map[string]*Shape `json:"properties"`
	Others     others            `json:"additionalProperties"`
	Required   []string          `json:"required"`
	Items      *Shape            `json:"items"`
	MinItems   int               `json:"minItems"`
	MaxItems   int               `json:"maxItems"`
	Minimum    *float64          `json:"minimum"`
	Maximum    *float64          `json:"maximum"`
}

// others says which keys an object may have besides those that are named.
type others struct {
	none bool
	like *Shape // nil: anything
}

func (o *others) UnmarshalJSON(raw []byte) error {
	var any bool
	if json.Unmarshal(raw, &any) == nil {
		o.none = !any
		return nil
	}
	o.like = &Shape{}
	return decodeShape(raw, o.like)
}

// Types is one type or a list of them.
type Types []string

// typeWords are the types of JSON Schema as they are called in errors.
var typeWords = map[string]string{"string": "a string", "boolean": "true or false", "number": "a number", "integer": "a whole number", "array": "a list", "object": "an object"}

func (t Types) String() string {
	said := make([]string, len(t))
	for i, kind := range t {
		said[i] = typeWords[kind]
	}
	return strings.Join(said, " or ")
}

func (t *Types) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = Types{one}
		return nil
	}
	var list []string
	err := json.Unmarshal(raw, &list)
	*t = list
	return err
}

// The schemas of the pack.
var (
	Decision = sync.OnceValues(func() (*Shape, error) { return readShape("decision") })
	Input    = sync.OnceValues(func() (*Shape, error) { return readShape("input") })
	Settings = sync.OnceValues(func() (*Shape, error) { return readShape("settings") })
)

func readShape(name string) (*Shape, error) {
	s := &Shape{}
	raw, err := policies.FS.ReadFile("schemas/" + name + "/" + name + ".json")
	if err == nil {
		err = decodeShape(raw, s)
	}
	if err == nil {
		err = s.resolve(s.Defined)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the schema %s: %w", name, err)
	}
	return s, nil
}

func decodeShape(raw []byte, into *Shape) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// resolve puts what is defined in the places of references to it. A definition is
// resolved once, so that one may stand in itself.
func (s *Shape) resolve(defined map[string]*Shape) error {
	if s == nil {
		return nil
	}
	if s.Ref != "" {
		d := defined[strings.TrimPrefix(s.Ref, "#/definitions/")]
		if d == nil {
			return fmt.Errorf("%s is not defined", s.Ref)
		}
		if d.Ref != "" {
			return fmt.Errorf("%s refers to another definition", s.Ref)
		}
		*s = *d
	}
	parts := slices.Concat(slices.Collect(maps.Values(s.Properties)), s.AnyOf, []*Shape{s.Others.like, s.Items}, slices.Collect(maps.Values(s.Defined)))
	for _, part := range parts {
		if err := part.resolve(defined); err != nil {
			return err
		}
	}
	return nil
}

// kinds are the types that a value of the shape may have; none: every type.
func (s *Shape) kinds() (all Types) {
	all = slices.Clone(s.Type)
	for _, one := range s.AnyOf {
		all = append(all, one.kinds()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// FieldsOf are the fields of the object at a path such as decision.hold, or of each
// in a list there.
func FieldsOf(path string) []string {
	s, err := Decision()
	if err != nil {
		return nil // who reads the policy has been told
	}
	for _, name := range strings.Split(path, ".")[1:] {
		if s = s.Properties[name]; s == nil {
			return nil
		}
		if s.Items != nil {
			s = s.Items
		}
	}
	return slices.Sorted(maps.Keys(s.Properties))
}
