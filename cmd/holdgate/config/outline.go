package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/plugins"
)

// Outline is a configuration for the eyes of strangers: its keys, numbers and switches.
// Of texts only those show that are the default, or one of a key's fixed words; of names
// only those that Holdgate brings. Of a plugin's own settings nothing shows.
func Outline(c Config) any {
	return outline(reflect.ValueOf(c), reflect.ValueOf(Default("", "")))
}

// fixedWords are values that keys choose from.
var fixedWords = slices.Concat(slices.Collect(maps.Values(choices))...)

// outline walks a value beside the default that stands in its place, if one does.
func outline(v, plain reflect.Value) any {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v, plain = v.Elem(), reflect.Value{}
	}
	if plain.IsValid() && plain.Type() != v.Type() {
		plain = reflect.Value{}
	}
	switch v.Kind() {
	case reflect.Struct:
		return outlineStruct(v, plain)
	case reflect.Map:
		if v.Type() == reflect.TypeFor[Settings]() {
			return fmt.Sprintf("<%d settings>", v.Len())
		}
		return outlineMap(v, plain)
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range v.Len() {
			list[i] = outline(v.Index(i), reflect.Value{})
		}
		return list
	case reflect.String:
		s := v.String()
		if s == "" || plain.IsValid() && plain.String() == s || slices.Contains(fixedWords, s) {
			return s
		}
		return fmt.Sprintf("<text of %d bytes>", len(s))
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return fmt.Sprint(v.Interface()) // durations and sizes with their units
	}
	return "<hidden>" // hashes of tokens, and what is not known here
}

func outlineStruct(v, plain reflect.Value) any {
	fields := map[string]any{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, how, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		var beside reflect.Value
		if plain.IsValid() {
			beside = plain.Field(i)
		}
		switch {
		case how == "inline":
			if inner, ok := outline(v.Field(i), beside).(map[string]any); ok {
				for k, o := range inner {
					fields[k] = o
				}
			}
		case !f.IsExported() || name == "" || name == "-":
		default:
			fields[name] = outline(v.Field(i), beside)
		}
	}
	return fields
}

// Texts are the texts that [Outline] hides and that are long enough to be looked for,
// a plugin's own settings and the names that users gave among them.
func Texts(c Config) (list []string) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("yaml") != "-" {
					walk(v.Field(i))
				}
			}
		case reflect.Map:
			for k, e := range v.Seq2() {
				walk(k)
				walk(e)
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.String:
			if s := v.String(); len(s) >= 6 && !slices.Contains(fixedWords, s) && !slices.Contains(plugins.Names(), s) {
				list = append(list, s)
			}
		}
	}
	walk(reflect.ValueOf(c))
	return list
}

// Names are the names that users gave: the keys of a configuration's maps that Holdgate
// does not bring, who holds its token, and the hosts of its addresses.
func Names(c Config) []string {
	names := append(hostsOf(Texts(c)), c.Approver)
	plain := reflect.ValueOf(Default("", ""))
	for i := range plain.NumField() {
		v := reflect.ValueOf(c).Field(i)
		if v.Kind() != reflect.Map || v.Type().Key().Kind() != reflect.String {
			continue
		}
		for _, name := range v.MapKeys() {
			if !plain.Field(i).MapIndex(name).IsValid() && !slices.Contains(plugins.Names(), name.String()) {
				names = append(names, name.String())
			}
		}
	}
	return names
}

// hostsOf are the hosts that texts name by URL or address, but for this machine.
func hostsOf(texts []string) (hosts []string) {
	for _, text := range texts {
		host, _, err := net.SplitHostPort(text)
		if u, bad := url.Parse(text); bad == nil && u.Host != "" {
			host, err = u.Hostname(), nil
		}
		if err == nil && host != "" && host != "localhost" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// outlineMap numbers the names that users gave.
func outlineMap(v, plain reflect.Value) any {
	entries := map[string]any{}
	names := v.MapKeys()
	slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for i, name := range names {
		var beside reflect.Value
		if plain.IsValid() {
			beside = plain.MapIndex(name)
		}
		shown := name.String()
		if !beside.IsValid() && !slices.Contains(plugins.Names(), shown) {
			shown = fmt.Sprintf("<name %d>", i+1)
		}
		entries[shown] = outline(v.MapIndex(name), beside)
	}
	return entries
}
