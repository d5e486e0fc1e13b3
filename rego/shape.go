package rego

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

// A shape is what a JSON Schema of the pack's says of one value. It has the words
// that those schemas use; another one there is an error.
type shape struct {
	Schema  string            `json:"$schema"`
	Title   string            `json:"title"`
	About   string            `json:"description"`
	Ref     string            `json:"$ref"` // taken away by resolve
	Default json.RawMessage   `json:"default"`
	Defined map[string]*shape `json:"definitions"`

	Type       shapeTypes        `json:"type"`
	AnyOf      []*shape          `json:"anyOf"`
	Enum       []string          `json:"enum"`
	Pattern    string            `json:"pattern"`
	Format     string            `json:"format"` // regex or date-time
	MinLength  int               `json:"minLength"`
	Properties map[string]*shape `json:"properties"`
	Others     others            `json:"additionalProperties"`
	Required   []string          `json:"required"`
	Items      *shape            `json:"items"`
	MinItems   int               `json:"minItems"`
	MaxItems   int               `json:"maxItems"`
	Minimum    *float64          `json:"minimum"`
	Maximum    *float64          `json:"maximum"`
}

// others says which keys an object may have besides those that are named.
type others struct {
	none bool
	like *shape // nil: anything
}

func (o *others) UnmarshalJSON(raw []byte) error {
	var any bool
	if json.Unmarshal(raw, &any) == nil {
		o.none = !any
		return nil
	}
	o.like = &shape{}
	return decodeShape(raw, o.like)
}

// shapeTypes is one type or a list of them.
type shapeTypes []string

// typeWords are the types of JSON Schema as they are called in errors.
var typeWords = map[string]string{"string": "a string", "boolean": "true or false", "number": "a number", "integer": "a whole number", "array": "a list", "object": "an object"}

func (t shapeTypes) String() string {
	said := make([]string, len(t))
	for i, kind := range t {
		said[i] = typeWords[kind]
	}
	return strings.Join(said, " or ")
}

func (t *shapeTypes) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = shapeTypes{one}
		return nil
	}
	var list []string
	err := json.Unmarshal(raw, &list)
	*t = list
	return err
}

// The schemas of the pack.
var (
	decisionShape = sync.OnceValues(func() (*shape, error) { return readShape("decision") })
	inputShape    = sync.OnceValues(func() (*shape, error) { return readShape("input") })
	settingsShape = sync.OnceValues(func() (*shape, error) { return readShape("settings") })
)

func readShape(name string) (*shape, error) {
	s := &shape{}
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

func decodeShape(raw []byte, into *shape) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// resolve puts what is defined in the places of references to it. A definition is
// resolved once, so that one may stand in itself.
func (s *shape) resolve(defined map[string]*shape) error {
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
	parts := slices.Concat(slices.Collect(maps.Values(s.Properties)), s.AnyOf, []*shape{s.Others.like, s.Items}, slices.Collect(maps.Values(s.Defined)))
	for _, part := range parts {
		if err := part.resolve(defined); err != nil {
			return err
		}
	}
	return nil
}

// kinds are the types that a value of the shape may have; none: every type.
func (s *shape) kinds() (all shapeTypes) {
	all = slices.Clone(s.Type)
	for _, one := range s.AnyOf {
		all = append(all, one.kinds()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
