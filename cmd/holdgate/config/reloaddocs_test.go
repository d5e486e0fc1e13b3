package config

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The docs say of each key whether it is read again or takes a restart.
func TestTheDocsSayWhatIsReadAgain(t *testing.T) {
	page, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (at once|after a restart)").FindAllSubmatch(page, -1) {
		said[string(m[1])] = string(m[2])
	}
	for _, key := range slices.Sorted(maps.Keys(keysOf(reflect.TypeFor[Config]()))) {
		want := "after a restart"
		if slices.ContainsFunc(reloadable, func(name string) bool { return name == key || strings.HasPrefix(name, key+".") }) {
			want = "at once"
		}
		if said[key] != want {
			t.Errorf("docs/configuration.md says of %s %q, want %q", key, said[key], want)
		}
		delete(said, key)
	}
	for key := range said {
		t.Errorf("docs/configuration.md has a row for %s, which is no key", key)
	}
}
