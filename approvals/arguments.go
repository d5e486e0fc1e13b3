package approvals

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxEdit bounds edited arguments, in bytes.
	maxEdit = 256 << 10
	// maxEditDepth is how deep arrays and objects may lie in them.
	maxEditDepth = 128
)

// strictObject checks that raw is one JSON object that every parser reads
// alike: valid UTF-8, no two keys of an object equal or different in case
// alone, not too deep, not too long.
func strictObject(raw json.RawMessage) error {
	if len(raw) > maxEdit {
		return fmt.Errorf("%w: the arguments have %d bytes, at most %d", ErrAnswer, len(raw), maxEdit)
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if dec.PeekKind() != '{' {
		return fmt.Errorf("%w: the arguments must be one JSON object", ErrAnswer)
	}
	keys := []map[string]bool{nil}
	for {
		t, err := dec.ReadToken()
		if err != nil {
			return fmt.Errorf("%w: the arguments are not strict JSON: %w", ErrAnswer, err)
		}
		depth := dec.StackDepth()
		switch kind := t.Kind(); {
		case depth > maxEditDepth:
			return fmt.Errorf("%w: the arguments lie more than %d deep", ErrAnswer, maxEditDepth)
		case kind == '{' || kind == '[':
			keys = append(keys[:depth], map[string]bool{})
		case kind == '"' && depth > 0:
			if parent, n := dec.StackIndex(depth); parent == '{' && n%2 == 1 {
				key := foldKey(t.String())
				if keys[depth][key] {
					return fmt.Errorf("%w: two keys of the arguments differ from %q in case alone", ErrAnswer, t.String())
				}
				keys[depth][key] = true
			}
		}
		if depth == 0 {
			break
		}
	}
	if rest := bytes.TrimLeft(raw[dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return fmt.Errorf("%w: something follows the arguments' object", ErrAnswer)
	}
	return nil
}

// foldKey is the same for all keys that differ in case alone, by Unicode's
// simple folding.
func foldKey(key string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, key)
}
