package decide

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
)

// A leaf is a value in arguments that is no object and no list, or an empty
// one. Its text is what a string says, or JSON.
type leaf struct {
	path string // a JSON pointer
	kind jsontext.Kind
	text string
}

// shown is the leaf's text as a person reads it beside one of another kind.
func (l leaf) shown(beside jsontext.Kind) string {
	if l.kind == '"' && beside != '"' {
		return strconv.Quote(l.text)
	}
	return l.text
}

// leaves lists the values in order.
func leaves(path string, v jsontext.Value) ([]leaf, error) {
	kind := v.Kind()
	switch kind {
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		return []leaf{{path, kind, string(text)}}, err
	case '{', '[':
	default:
		return []leaf{{path, kind, string(v)}}, nil
	}
	var list []leaf
	err := eachItem(v, func(name string, item jsontext.Value) error {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
		below, err := leaves(path+"/"+name, item)
		list = append(list, below...)
		return err
	})
	if len(list) == 0 {
		list = []leaf{{path, kind, map[jsontext.Kind]string{'{': "{}", '[': "[]"}[kind]}}
	}
	return list, err
}

// printDiff shows what an edit changes, value by value: lines that go with "-",
// lines that come with "+", under the title.
func printDiff(w io.Writer, title string, before, after []byte) error {
	old, err := leaves("", before)
	if err != nil {
		return fmt.Errorf("reading the call's arguments: %w", err)
	}
	now, err := leaves("", after)
	if err != nil {
		return fmt.Errorf("reading the new arguments: %w", err)
	}
	was, is := byPath(old), byPath(now)
	var b strings.Builder
	b.WriteString("\n" + title + "\n")
	for _, l := range old {
		n, kept := is[l.path]
		switch {
		case !kept:
			signed(&b, "-", l.path, l.text)
		case n != l:
			gone, come := apart(l.shown(n.kind), n.shown(l.kind))
			signed(&b, "-", l.path, gone)
			signed(&b, "+", l.path, come)
		}
	}
	for _, l := range now {
		if _, known := was[l.path]; !known {
			signed(&b, "+", l.path, l.text)
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func byPath(list []leaf) map[string]leaf {
	m := make(map[string]leaf, len(list))
	for _, l := range list {
		m[l.path] = l
	}
	return m
}

// apart takes off the lines that two texts begin and end with alike.
func apart(a, b string) (string, string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for len(x) > 1 && len(y) > 1 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 1 && len(y) > 1 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return strings.Join(x, "\n"), strings.Join(y, "\n")
}

func signed(b *strings.Builder, sign, path, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(b, "  %s %s: %s\n", sign, holdgate.Visible(path), holdgate.Visible(line))
	}
}
