package argv

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// Options are a command's words, taken apart as getopt_long does: options may
// stand anywhere, short ones may share a dash, long ones may be cut short, and
// "--" ends them.
type Options struct {
	short    map[byte][]Field
	Long     map[string][]Field
	Operands []Field
}

// ParseOptions reads words after the program's name. Valued lists the short
// options that take a value, valuedLong the long ones, blank-separated.
func ParseOptions(words []Field, valued, valuedLong string) Options {
	o := Options{short: make(map[byte][]Field), Long: make(map[string][]Field)}
	for i := 0; i < len(words); i++ {
		w := words[i]
		t := w.Text
		switch {
		case len(t) < 2 || t[0] != '-' || w.Stdin:
			o.Operands = append(o.Operands, w)
		case t == "--":
			o.Operands = append(o.Operands, words[i+1:]...)
			return o
		case strings.HasPrefix(t, "--"):
			name, value, has := strings.Cut(t[2:], "=")
			v := Field{Text: value, Dynamic: w.Dynamic}
			if !has && wordlist.Has(valuedLong, name) && i+1 < len(words) {
				i++
				v = words[i]
			}
			o.Long[name] = append(o.Long[name], v)
		default:
			i += o.cluster(words[i:], valued)
		}
	}
	return o
}

// cluster reads short options that share a dash, and returns how many further
// words it used.
func (o Options) cluster(words []Field, valued string) int {
	t := words[0].Text
	for j := 1; j < len(t); j++ {
		c := t[j]
		if strings.IndexByte(valued, c) < 0 {
			o.short[c] = append(o.short[c], Field{})
			continue
		}
		if j+1 < len(t) {
			o.short[c] = append(o.short[c], Field{Text: t[j+1:], Dynamic: words[0].Dynamic, Glob: words[0].Glob})
			return 0
		}
		if len(words) > 1 {
			o.short[c] = append(o.short[c], words[1])
			return 1
		}
		o.short[c] = append(o.short[c], Field{})
	}
	return 0
}

// Has reports whether one of the short options or the long one is given. A
// long option counts where it is cut short, as getopt_long has it.
func (o Options) Has(short, long string) bool {
	for i := range len(short) {
		if _, ok := o.short[short[i]]; ok {
			return true
		}
	}
	if long == "" {
		return false
	}
	for name := range o.Long {
		if name != "" && strings.HasPrefix(long, name) {
			return true
		}
	}
	return false
}

// Only reports whether no other options are given than these, which are words by name.
func (o Options) Only(short, long string) bool {
	for c := range o.short {
		if strings.IndexByte(short, c) < 0 {
			return false
		}
	}
	for name := range o.Long {
		if !wordlist.Has(long, name) {
			return false
		}
	}
	return true
}

// Values are those that were given to an option.
func (o Options) Values(short, long string) []Field {
	var out []Field
	for i := range len(short) {
		out = append(out, o.short[short[i]]...)
	}
	if long != "" {
		out = append(out, o.Long[long]...)
	}
	return out
}

// CutShort are the values of a long option, also where its name is cut short.
func (o Options) CutShort(long string) []Field {
	out := slices.Clone(o.Long[long])
	for _, name := range slices.Sorted(maps.Keys(o.Long)) {
		if len(name) > 1 && name != long && strings.HasPrefix(long, name) {
			out = append(out, o.Long[name]...)
		}
	}
	return out
}

// ClusterWords is how many further words a cluster of short options takes.
func ClusterWords(t, valued string) int {
	for j := 1; j < len(t); j++ {
		if strings.IndexByte(valued, t[j]) >= 0 {
			if j == len(t)-1 {
				return 1
			}
			return 0
		}
	}
	return 0
}
