package facts

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// decodeObject reads arguments: one strict JSON object, without duplicate keys
// and broken UTF-8. It reports false where they are anything else.
func decodeObject(raw []byte) (map[string]any, bool) {
	if d := (decoder{s: string(raw)}); utf8.Valid(raw) {
		if o, ok := d.whole(); ok {
			return o, true
		}
	}
	var o map[string]any
	return o, json.Unmarshal(raw, &o) == nil
}

// A decoder reads what nearly all arguments are made of, several times as fast
// as a library that reads into anything. At what is unusual it gives up, for that
// library to say what is to be made of it: any fault, an escape by number, a key
// that comes twice, a number out of range. The text must be UTF-8.
type decoder struct {
	s     string
	at    int
	depth int
}

// whole reads all of the text.
func (d *decoder) whole() (map[string]any, bool) {
	d.blanks()
	if !d.take('{') {
		return nil, false
	}
	o, ok := d.object()
	d.blanks()
	return o, ok && d.at == len(d.s)
}

func (d *decoder) blanks() {
	for d.at < len(d.s) {
		switch d.s[d.at] {
		case ' ', '\t', '\r', '\n':
			d.at++
		default:
			return
		}
	}
}

// take reads the byte, if it is next.
func (d *decoder) take(c byte) bool {
	if d.at < len(d.s) && d.s[d.at] == c {
		d.at++
		return true
	}
	return false
}

func (d *decoder) value() (any, bool) {
	d.blanks()
	if d.at == len(d.s) {
		return nil, false
	}
	switch d.s[d.at] {
	case '{':
		d.at++
		return d.object()
	case '[':
		d.at++
		return d.list()
	case '"':
		d.at++
		return d.text()
	case 't':
		return true, d.word("true")
	case 'f':
		return false, d.word("false")
	case 'n':
		return nil, d.word("null")
	}
	return d.number()
}

func (d *decoder) word(w string) bool {
	ok := strings.HasPrefix(d.s[d.at:], w)
	d.at += len(w)
	return ok
}

// object reads an object behind its brace.
func (d *decoder) object() (map[string]any, bool) {
	o := make(map[string]any)
	if d.depth++; d.depth > maxArgumentDepth {
		return nil, false
	}
	d.blanks()
	for ended := d.take('}'); !ended; ended = d.take('}') {
		if len(o) > 0 && !d.take(',') {
			return nil, false
		}
		d.blanks()
		if !d.take('"') {
			return nil, false
		}
		key, ok := d.text()
		if !ok {
			return nil, false
		}
		d.blanks()
		if _, twice := o[key]; twice || !d.take(':') {
			return nil, false
		}
		if o[key], ok = d.value(); !ok {
			return nil, false
		}
		d.blanks()
	}
	d.depth--
	return o, true
}

// list reads an array behind its bracket.
func (d *decoder) list() ([]any, bool) {
	l := []any{}
	if d.depth++; d.depth > maxArgumentDepth {
		return nil, false
	}
	d.blanks()
	for ended := d.take(']'); !ended; ended = d.take(']') {
		if len(l) > 0 && !d.take(',') {
			return nil, false
		}
		v, ok := d.value()
		if !ok {
			return nil, false
		}
		l = append(l, v)
		d.blanks()
	}
	d.depth--
	return l, true
}

// text reads a string behind its opening quote. One without escapes is a part of
// the whole text.
func (d *decoder) text() (string, bool) {
	start := d.at
	for ; d.at < len(d.s); d.at++ {
		switch c := d.s[d.at]; {
		case c == '"':
			d.at++
			return d.s[start : d.at-1], true
		case c == '\\':
			return d.escaped(start)
		case c < ' ':
			return "", false
		}
	}
	return "", false
}

// escaped is text for a string that begins at start and has an escape where the
// decoder is.
func (d *decoder) escaped(start int) (string, bool) {
	var b strings.Builder
	b.WriteString(d.s[start:d.at])
	for plain := d.at; d.at < len(d.s); d.at++ {
		switch c := d.s[d.at]; {
		case c == '"':
			b.WriteString(d.s[plain:d.at])
			d.at++
			return b.String(), true
		case c < ' ':
			return "", false
		case c == '\\':
			b.WriteString(d.s[plain:d.at])
			if d.at++; d.at == len(d.s) {
				return "", false
			}
			n := strings.IndexByte(`"\/bfnrt`, d.s[d.at])
			if n < 0 {
				return "", false
			}
			b.WriteByte("\"\\/\b\f\n\r\t"[n])
			plain = d.at + 1
		}
	}
	return "", false
}

func (d *decoder) number() (float64, bool) {
	start := d.at
	d.take('-')
	if !d.take('0') && !d.digits() || d.take('.') && !d.digits() {
		return 0, false
	}
	if d.take('e') || d.take('E') {
		if !d.take('+') {
			d.take('-')
		}
		if !d.digits() {
			return 0, false
		}
	}
	n, err := strconv.ParseFloat(d.s[start:d.at], 64)
	return n, err == nil
}

// digits reports whether there was one at least.
func (d *decoder) digits() bool {
	start := d.at
	for d.at < len(d.s) && d.s[d.at] >= '0' && d.s[d.at] <= '9' {
		d.at++
	}
	return d.at > start
}
