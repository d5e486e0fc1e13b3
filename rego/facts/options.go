package facts

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// options are a command's words, taken apart as getopt_long does: options may
// stand anywhere, short ones may share a dash, long ones may be cut short, and
// "--" ends them.
type options struct {
	short    map[byte][]field
	long     map[string][]field
	operands []field
}

// parseOptions reads words after the program's name. Valued lists the short
// options that take a value, valuedLong the long ones, blank-separated.
func parseOptions(words []field, valued, valuedLong string) options {
	o := options{short: make(map[byte][]field), long: make(map[string][]field)}
	for i := 0; i < len(words); i++ {
		w := words[i]
		t := w.text
		switch {
		case len(t) < 2 || t[0] != '-' || w.stdin:
			o.operands = append(o.operands, w)
		case t == "--":
			o.operands = append(o.operands, words[i+1:]...)
			return o
		case strings.HasPrefix(t, "--"):
			name, value, has := strings.Cut(t[2:], "=")
			v := field{text: value, dynamic: w.dynamic}
			if !has && wordlist.Has(valuedLong, name) && i+1 < len(words) {
				i++
				v = words[i]
			}
			o.long[name] = append(o.long[name], v)
		default:
			i += o.cluster(words[i:], valued)
		}
	}
	return o
}

// cluster reads short options that share a dash, and returns how many further
// words it used.
func (o options) cluster(words []field, valued string) int {
	t := words[0].text
	for j := 1; j < len(t); j++ {
		c := t[j]
		if strings.IndexByte(valued, c) < 0 {
			o.short[c] = append(o.short[c], field{})
			continue
		}
		if j+1 < len(t) {
			o.short[c] = append(o.short[c], field{text: t[j+1:], dynamic: words[0].dynamic, glob: words[0].glob})
			return 0
		}
		if len(words) > 1 {
			o.short[c] = append(o.short[c], words[1])
			return 1
		}
		o.short[c] = append(o.short[c], field{})
	}
	return 0
}

// has reports whether one of the short options or the long one is given. A
// long option counts where it is cut short, as getopt_long has it.
func (o options) has(short, long string) bool {
	for i := range len(short) {
		if _, ok := o.short[short[i]]; ok {
			return true
		}
	}
	if long == "" {
		return false
	}
	for name := range o.long {
		if name != "" && strings.HasPrefix(long, name) {
			return true
		}
	}
	return false
}

// values are those that were given to an option.
func (o options) values(short, long string) []field {
	var out []field
	for i := range len(short) {
		out = append(out, o.short[short[i]]...)
	}
	if long != "" {
		out = append(out, o.long[long]...)
	}
	return out
}

// cutShort are the values of a long option, also where its name is cut short.
func (o options) cutShort(long string) []field {
	out := slices.Clone(o.long[long])
	for _, name := range slices.Sorted(maps.Keys(o.long)) {
		if len(name) > 1 && name != long && strings.HasPrefix(long, name) {
			out = append(out, o.long[name]...)
		}
	}
	return out
}
