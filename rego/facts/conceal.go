package facts

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/secrets"
)

// shortestValue is how long a credential is at least that is looked for by its value.
const shortestValue = 6

// Values are the credentials in a call, and the texts that hold them, the
// longest first, for [Conceal]. It works the facts out again.
func Values(ctx context.Context, c holdgate.Call, o Options) []string {
	x := collect.New(ctx, o)
	call(x, c)
	values := slices.Clone(x.Held)
	for _, text := range x.Held {
		spans, _ := secrets.Spans(text)
		for _, s := range spans {
			values = append(values, text[s.Start:s.End])
		}
	}
	if c.Tool != nil {
		if args, ok := decodeObject(c.Tool.Arguments); ok {
			for _, s := range x.Facts.Secrets {
				values = append(values, textsAt(args, s.Pointer)...)
			}
		}
	}
	values = slices.DeleteFunc(values, func(v string) bool { return len(v) < shortestValue })
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(values)
}

// textsAt are the texts under a pointer.
func textsAt(v any, pointer string) []string {
	if pointer != "" {
		part, rest, more := strings.Cut(pointer[1:], "/")
		if more {
			rest = "/" + rest
		}
		switch v := v.(type) {
		case map[string]any:
			return textsAt(v[pointerUnescape.Replace(part)], rest)
		case []any:
			if n, err := strconv.Atoi(part); err == nil && n < len(v) {
				return textsAt(v[n], rest)
			}
		}
		return nil
	}
	var texts []string
	switch v := v.(type) {
	case string:
		texts = append(texts, v)
	case []any:
		for _, e := range v {
			texts = append(texts, textsAt(e, "")...)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			texts = append(texts, textsAt(v[k], "")...)
		}
	}
	return texts
}

var pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")
