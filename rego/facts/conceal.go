package facts

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/secrets"
)

// shortestValue is how long a credential is at least that is looked for by its value.
const shortestValue = 4

// Values are the credentials in a call, and the texts that hold them, the
// longest first, for [Conceal]. It works the facts out again. apart says that taking
// credentials out of each text of a tool's arguments leaves none of the facts': none is put
// together from several texts or spelled in another way.
func Values(ctx context.Context, c holdgate.Call, o Options) (values []string, apart bool) {
	x := collect.New(ctx, o)
	call(x, c)
	values = slices.Clone(x.Held)
	for _, text := range x.Held {
		values = append(values, spansOf(text)...)
	}
	var args any
	if c.Tool != nil {
		if o, ok := decodeObject(c.Tool.Arguments); ok {
			args = o
			for _, s := range x.Facts.Secrets {
				values = append(values, textsAt(o, s.Pointer)...)
			}
		}
	}
	texts := textsAt(args, "")
	apart = args != nil
	shown := make([]string, len(texts))
	for i, text := range texts {
		shown[i] = secrets.Conceal(text, nil)
		values = append(values, spansOf(text)...)
	}
	for _, held := range x.Held {
		apart = apart && gone(held, texts, shown)
	}
	return longestFirst(slices.DeleteFunc(values, func(v string) bool { return len(v) < shortestValue })), apart
}

func longestFirst(values []string) []string {
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(values)
}

// Found are the credentials that were found in arguments, the longest first, that are no
// credential alone: not those that may be a word, that stand there once more as something
// else, or that a variable holds which is used. People see what these are.
func Found(arguments []byte, found []holdgate.FoundSecret) (values []string) {
	args, _ := decodeObject(arguments)
	all := strings.Join(textsAt(args, ""), "\n")
	times := make(map[string]int)
	for _, s := range found {
		if s.Name || s.Encoded {
			continue
		}
		for _, text := range textsAt(args, s.Pointer) {
			if v := text[min(s.Start, len(text)):min(s.End, len(text))]; secrets.Telling(v) && !used(all, text[:min(s.Start, len(text))]) {
				times[v]++
			}
		}
	}
	for v, n := range times {
		if strings.Count(all, v) <= n {
			values = append(values, v)
		}
	}
	return longestFirst(values)
}

var assigned = lazyregexp.New(`([A-Za-z_]\w*)["'\])]*\s*[:=]=?\s*["']?$`)

// used reports whether the text before a value assigns it to a variable that the call uses.
func used(all, before string) bool {
	m := assigned.FindStringSubmatch(before[max(0, len(before)-100):])
	return m != nil && (strings.Contains(all, "$"+m[1]) || strings.Contains(all, "${"+m[1]))
}

// Concealed are facts for people, each text in them as conceal returns it.
func Concealed(f Facts, conceal func(string) string) Facts {
	return concealed(reflect.ValueOf(f), conceal).Interface().(Facts)
}

// concealed is a copy of a value with each string in it changed.
func concealed(v reflect.Value, change func(string) string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.String:
		out.SetString(change(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(concealed(v.Field(i), change))
		}
	case reflect.Slice:
		if v.IsNil() {
			break
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(concealed(v.Index(i), change))
		}
	case reflect.Map:
		if v.IsNil() {
			break
		}
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for k, e := range v.Seq2() {
			out.SetMapIndex(concealed(k, change), concealed(e, change))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(concealed(v.Elem(), change))
		}
	}
	return out
}

// gone reports whether a text that holds credentials stands in the texts and not in what is
// shown of them. Where it was put together, as from words in quotes, that is asked of what it
// holds.
func gone(held string, texts, shown []string) bool {
	in := func(text string) bool { return strings.Contains(text, held) }
	if slices.ContainsFunc(texts, in) {
		return !slices.ContainsFunc(shown, in)
	}
	parts := spansOf(held)
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(part string) bool {
		in := func(text string) bool { return strings.Contains(text, part) }
		return !slices.ContainsFunc(texts, in) || slices.ContainsFunc(shown, in)
	})
}

// spansOf are the credentials in a text.
func spansOf(text string) (values []string) {
	spans, _ := secrets.Spans(text)
	for _, s := range spans {
		values = append(values, text[s.Start:s.End])
	}
	return values
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
