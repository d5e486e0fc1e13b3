package config

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The table of keys has each key once, and no other, with the default that it has.
func TestTheTableHasEveryKey(t *testing.T) {
	page, err := os.ReadFile("../../../docs/configuration-keys.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_.*\\[\\]]+)` \\| ([^|]*)\\|").FindAllStringSubmatch(string(page), -1) {
		if _, twice := said[m[1]]; twice {
			t.Errorf("the table has %s twice", m[1])
		}
		said[m[1]] = strings.TrimSpace(m[2])
	}
	defaults := map[string]reflect.Value{}
	keysBelow(defaults, "", reflect.ValueOf(Default("~/.local/state/holdgate", "")))
	for _, key := range slices.Sorted(maps.Keys(defaults)) {
		cell, is := said[key]
		if !is {
			t.Errorf("docs/configuration-keys.md has no row for %s", key)
		} else if v := defaults[key]; v.IsValid() && !v.IsZero() && !sayDefault(cell, v) {
			t.Errorf("docs/configuration-keys.md says that the default of %s is %s, and it is %v", key, cell, v)
		}
		delete(said, key)
	}
	for key := range said {
		t.Errorf("docs/configuration-keys.md has a row for %s, which is no key", key)
	}
}

// sayDefault reports whether a cell is how a file would say the value.
func sayDefault(cell string, v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return cell == "`"+strings.Join(v.Interface().([]string), "`, `")+"`"
	}
	read := reflect.New(v.Type())
	text := strings.Trim(cell, "`")
	return yaml.Unmarshal([]byte(text), read.Interface()) == nil && read.Elem().Interface() == v.Interface()
}

// keysBelow fills in the keys below a value, with their defaults where they have one.
func keysBelow(found map[string]reflect.Value, under string, v reflect.Value) {
	key := strings.TrimSuffix(under, ".")
	switch t := v.Type(); {
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		keysBelow(found, under, reflect.Zero(t.Elem()))
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct, t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Pointer:
		keysBelow(found, under+"*.", reflect.Zero(t.Elem()))
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && len(keysOf(t.Elem())) > 0:
		keysBelow(found, key+"[].", reflect.Zero(t.Elem()))
	case t.Kind() == reflect.Struct && len(keysOf(t)) > 0:
		for i := range t.NumField() {
			name, how, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
			switch {
			case how == "inline":
				keysBelow(found, under, v.Field(i))
			case name != "" && name != "-":
				keysBelow(found, fmt.Sprintf("%s%s.", under, name), v.Field(i))
			}
		}
	default:
		found[key] = v
	}
}
