package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdgate/holdgate"
)

// Bounds of checking arguments against a schema, which a server wrote. Its size
// counts with all that it refers to written out, so that a small text cannot
// ask for a lot of work; the product with the size of the arguments bounds the
// time, to some milliseconds.
const (
	maxSchemaNodes = 10_000
	maxSchemaWork  = 4_000_000
	maxMisfits     = 10
)

// A Schema is a tool's inputSchema. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	nodes    int
}

// errOutside is returned for whatever lies outside of a schema.
var errOutside = errors.New("it refers to what is not in it, which is never fetched")

// nowhere is where schemas that lie elsewhere are loaded from.
type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, errOutside }

// CompileSchema reads a schema of the JSON Schema drafts 4 to 2020-12; where it
// names none it is of the last. It must be strict JSON. References to other
// documents are errors, and so are those that lead in a circle, for no bound
// can be given for them.
func CompileSchema(raw []byte) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading a schema: %w", err)
	}
	w := sizing{root: doc}
	n, err := w.size(doc, 0)
	if err != nil {
		return nil, fmt.Errorf("reading a schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	const at = "holdgate:schema"
	if err := c.AddResource(at, doc); err != nil {
		return nil, fmt.Errorf("reading a schema: %w", err)
	}
	compiled, err := c.Compile(at)
	if err != nil {
		return nil, fmt.Errorf("compiling a schema: %w", err)
	}
	return &Schema{compiled, n}, nil
}

// sizing counts how large a schema is with its references written out.
type sizing struct {
	root    any
	leading []string // the references that led here
	known   map[string]int
}

func (w *sizing) size(v any, depth int) (n int, err error) {
	if depth > 200 {
		return 0, errors.New("it is nested too deeply")
	}
	add := func(v any) error {
		m, err := w.size(v, depth+1)
		if n += m; err == nil && n > maxSchemaNodes {
			err = fmt.Errorf("with all that it refers to it has more than %d parts", maxSchemaNodes)
		}
		return err
	}
	n = 1
	switch v := v.(type) {
	case json.Number:
		return n, checkNumber(v)
	case []any:
		for _, e := range v {
			if err := add(e); err != nil {
				return n, err
			}
		}
	case map[string]any:
		for name, e := range v {
			var err error
			ref, isText := e.(string)
			switch {
			case name == "$ref" && isText:
				var m int
				if m, err = w.follow(ref, depth); err == nil {
					n += m
				}
			case name == "$dynamicRef" || name == "$recursiveRef":
				err = errors.New("it refers to itself")
			case depth > 0 && isText && w.renames(name):
				err = errors.New("it has documents of its own in it")
			case name == "$defs" || name == "definitions": // count where they are referred to
			default:
				err = add(e)
			}
			if err == nil && n > maxSchemaNodes {
				err = fmt.Errorf("with all that it refers to it has more than %d parts", maxSchemaNodes)
			}
			if err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// renames reports whether a keyword makes references below it lead elsewhere.
func (w *sizing) renames(name string) bool {
	root, _ := w.root.(map[string]any)
	draft, _ := root["$schema"].(string)
	return name == "$id" || name == "$schema" || name == "id" && strings.Contains(draft, "draft-04")
}

// checkNumber refuses what takes long to compute with: the library has numbers
// as fractions, and 1e999999 is one of a million digits.
func checkNumber(n json.Number) error {
	text := strings.ToLower(n.String())
	digits, exponent, _ := strings.Cut(text, "e")
	if len(digits) > 400 || len(strings.TrimLeft(exponent, "+-0")) > 3 {
		return fmt.Errorf("a number in it has %d characters, or an exponent beyond 999", len(text))
	}
	return nil
}

// checkNumbers does for all numbers in a value what checkNumber does for one.
func checkNumbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		return checkNumber(v)
	case []any:
		for _, e := range v {
			if err := checkNumbers(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := checkNumbers(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow is the size of what a reference leads to.
func (w *sizing) follow(ref string, depth int) (int, error) {
	if n, ok := w.known[ref]; ok {
		return n, nil
	}
	if slices.Contains(w.leading, ref) {
		return 0, errors.New("it refers to itself")
	}
	to, ok := pointed(w.root, ref)
	if !ok {
		return 0, errOutside
	}
	w.leading = append(w.leading, ref)
	n, err := w.size(to, depth+1)
	w.leading = w.leading[:len(w.leading)-1]
	if err == nil {
		if w.known == nil {
			w.known = map[string]int{}
		}
		w.known[ref] = n
	}
	return n, err
}

// pointed is what a reference such as #/$defs/a leads to.
func pointed(root any, ref string) (any, bool) {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok || rest != "" && rest[0] != '/' || strings.Contains(rest, "%") {
		return nil, false
	}
	at := root
	for part := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		if rest == "" {
			break
		}
		o, isObject := at.(map[string]any)
		if !isObject {
			return nil, false
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if at, ok = o[part]; !ok {
			return nil, false
		}
	}
	return at, true
}

// Check says whether arguments, a strict JSON object, fit the schema, and where
// they do not: as "/to/0: type", a JSON pointer with the keyword. No value is in
// it.
func (s *Schema) Check(arguments []byte) (fit holdgate.Fit, misfits []string) {
	if work := s.nodes * (1 + len(arguments)/4); work > maxSchemaWork {
		return holdgate.FitUnchecked, nil
	}
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || checkNumbers(v) != nil {
		return holdgate.FitUnchecked, nil
	}
	err := s.compiled.Validate(v)
	if err == nil {
		return holdgate.FitWhole, nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return holdgate.FitUnchecked, nil
	}
	gatherMisfits(invalid, &misfits)
	slices.Sort(misfits)
	return holdgate.FitNot, misfits
}

// gatherMisfits lists the leaves of an error, each once.
func gatherMisfits(e *jsonschema.ValidationError, list *[]string) {
	for _, c := range e.Causes {
		gatherMisfits(c, list)
	}
	if len(e.Causes) > 0 || len(*list) == maxMisfits {
		return
	}
	var b strings.Builder
	for _, part := range e.InstanceLocation {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	keyword := "schema"
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		keyword = path[0]
	}
	if m := b.String() + ": " + keyword; !slices.Contains(*list, m) {
		*list = append(*list, m)
	}
}
