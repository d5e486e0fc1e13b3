package corpus_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A node is a JSON value that keeps its members as they were written, so that a
// document can be written otherwise in one place.
type node struct {
	kind    byte // '{', '[', or 'v' for all else
	members []member
	elems   []*node
	raw     string // of a value that is neither
}

type member struct {
	key string // as it was written, with its quotes
	val *node
}

// parseTree reads a document of the test's own.
func parseTree(doc string) *node {
	n, err := readTree(jsontext.NewDecoder(strings.NewReader(doc), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)))
	if err != nil {
		return &node{kind: 'v', raw: doc}
	}
	return n
}

func placesOf(doc string) []place { return parseTree(doc).places() }

func readTree(d *jsontext.Decoder) (*node, error) {
	k := d.PeekKind()
	if k != '{' && k != '[' {
		v, err := d.ReadValue()
		return &node{kind: 'v', raw: string(v)}, err
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	n := &node{kind: byte(k)}
	for d.PeekKind() != k+2 { // the bracket that closes
		var m member
		if k == '{' {
			key, err := d.ReadValue()
			if err != nil {
				return nil, err
			}
			m.key = string(key)
		}
		val, err := readTree(d)
		if err != nil {
			return nil, err
		}
		if m.val = val; k == '{' {
			n.members = append(n.members, m)
		} else {
			n.elems = append(n.elems, val)
		}
	}
	_, err := d.ReadToken()
	return n, err
}

func (n *node) append(b []byte) []byte {
	switch n.kind {
	case '{':
		b = append(b, '{')
		for i, m := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = m.val.append(append(append(b, m.key...), ':'))
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, e := range n.elems {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.append(b)
		}
		return append(b, ']')
	}
	return append(b, n.raw...)
}

func (n *node) String() string { return string(n.append(nil)) }

// places are the objects of a document with each of their members, in order.
func (n *node) places() []place {
	var all []place
	for i, m := range n.members {
		all = append(append(all, place{n, i}), m.val.places()...)
	}
	for _, e := range n.elems {
		all = append(all, e.places()...)
	}
	return all
}

// A place is one member of an object.
type place struct {
	in *node
	i  int
}

func (p place) key() string { return p.in.members[p.i].key }
func (p place) val() *node  { return p.in.members[p.i].val }

func (p place) set(v *node) { p.in.members[p.i].val = v }

func (n *node) has(key string) bool {
	return slices.ContainsFunc(n.members, func(m member) bool { return m.key == key })
}

func (p place) insert(at int, m member) {
	list := append(p.in.members[:at:at], m)
	p.in.members = append(list, p.in.members[at:]...)
}

func value(raw string) *node { return &node{kind: 'v', raw: raw} }

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// A change writes a member otherwise. It reports whether it could.
type change struct {
	name string
	make func(p place) bool
}

// changes are the ways in which one member can be written otherwise, so that
// readers may differ in what they make of it.
func changes() []change {
	var all []change
	add := func(name string, f func(p place) bool) { all = append(all, change{name, f}) }
	for _, decoy := range []string{`null`, `{}`, `[]`, `""`, `"x"`, `0`, `false`} {
		add("decoy before "+decoy, func(p place) bool { p.insert(p.i, member{p.key(), value(decoy)}); return true })
		add("decoy after "+decoy, func(p place) bool { p.insert(p.i+1, member{p.key(), value(decoy)}); return true })
		add("value "+decoy, func(p place) bool { p.in.members[p.i].val = value(decoy); return true })
	}
	key := func(name string, f func(key string) string) {
		add("key "+name, func(p place) bool {
			old := p.key()
			p.in.members[p.i].key = f(old)
			return p.key() != old
		})
		add("key too "+name, func(p place) bool {
			m := member{f(p.key()), p.val()}
			p.insert(p.i+1, m)
			return m.key != p.key()
		})
	}
	inside := func(s string) string { return s[1 : len(s)-1] }
	key("capital", func(k string) string { return `"` + strings.ToUpper(k[1:2]) + k[2:] })
	key("capitals", strings.ToUpper)
	key("escaped", func(k string) string { return `"\u00` + hex(k[1]) + k[2:] })
	key("blank after", func(k string) string { return `"` + inside(k) + ` "` })
	key("nul after", func(k string) string { return `"` + inside(k) + `\u0000"` })
	key("snake", snake)
	key("camel", camel)
	add("twice", func(p place) bool { p.insert(p.i, p.in.members[p.i]); return true })
	add("left out", func(p place) bool {
		p.in.members = append(p.in.members[:p.i:p.i], p.in.members[p.i+1:]...)
		return true
	})
	add("last", func(p place) bool {
		m := p.in.members[p.i]
		p.in.members = append(append(p.in.members[:p.i:p.i], p.in.members[p.i+1:]...), m)
		return true
	})
	for _, holder := range []string{`"__proto__"`, `"constructor"`, `"extra_content"`} {
		add("inside "+holder, func(p place) bool {
			m := p.in.members[p.i]
			p.in.members[p.i] = member{holder, &node{kind: '{', members: []member{m}}}
			return true
		})
	}
	add("as text", func(p place) bool { p.in.members[p.i].val = value(quoted(p.val().String())); return true })
	add("in a list", func(p place) bool {
		p.in.members[p.i].val = &node{kind: '[', elems: []*node{p.val()}}
		return true
	})
	add("twice in its list", func(p place) bool {
		v := p.val()
		if v.kind != '[' || len(v.elems) == 0 {
			return false
		}
		v.elems = append(v.elems, v.elems[0])
		return true
	})
	add("list as object", func(p place) bool {
		v := p.val()
		if v.kind != '[' || len(v.elems) == 0 {
			return false
		}
		p.in.members[p.i].val = &node{kind: '{', members: []member{{`"0"`, v.elems[0]}, {`"length"`, value("1")}}}
		return true
	})
	for _, n := range []string{"-1", "1", "0.0", "1e0", "00", "9007199254740993", "1e400", `"0"`, `"1"`, `"a"`, "0.5", "4294967296"} {
		add("number "+n, func(p place) bool {
			old := p.val()
			p.in.members[p.i].val = value(n)
			return old.kind == 'v' && old.raw[0] >= '0' && old.raw[0] <= '9' && old.raw != n
		})
	}
	text := func(name string, f func(s string) string) {
		add("text "+name, func(p place) bool {
			v := p.val()
			if v.kind != 'v' || len(v.raw) < 3 || v.raw[0] != '"' {
				return false
			}
			p.in.members[p.i].val = value(`"` + f(inside(v.raw)) + `"`)
			return true
		})
	}
	text("capital", func(s string) string { return strings.ToUpper(s[:1]) + s[1:] })
	text("blank after", func(s string) string { return s + " " })
	text("escaped", func(s string) string { return `\u00` + hex(s[0]) + s[1:] })
	text("empty", func(string) string { return "" })
	text("half a surrogate", func(s string) string { return s + `\ud83d` })
	text("bad utf-8", func(s string) string { return s + "\xff" })
	return all
}

func hex(c byte) string { return string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]) }

func snake(k string) string {
	var b strings.Builder
	for _, r := range k {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func camel(k string) string {
	parts := strings.Split(k, "_")
	for i, p := range parts[1:] {
		if p != "" && p != `"` {
			parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

// spellings are a whole document written otherwise.
func spellings(doc string) map[string]string {
	var spread bytes.Buffer
	_ = json.Indent(&spread, []byte(doc), "", "\t")
	return map[string]string{
		"spread over lines": spread.String(),
		"blanks around":     " \t" + doc + " ",
		"a mark before":     "\xef\xbb\xbf" + doc,
		"twice":             doc + doc,
		"twice with blank":  doc + " " + doc,
		"in a list":         "[" + doc + "]",
		"a comma after":     doc + ",",
		"a comment before":  "/**/" + doc,
		"not closed":        doc[:len(doc)-1],
		"a brace more":      doc + "}",
		"nul after":         doc + "\x00",
		"single quotes":     strings.ReplaceAll(doc, `"`, `'`),
	}
}
