package config

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate/docs/docstest"
)

// others are those whose configuration pages show, by the second word of a block, with a key that
// each such block has on top.
var others = map[string]string{
	"envoy": "http_filters", "istio": "kind", "agentgateway": "policies", "envoy-gateway": "kind",
	"slack": "oauth_config", "github": "jobs", "prometheus": "scrape_configs",
	"opa": "bundles", // rego's tests load it
}

// Every configuration that the pages show is one that is taken, and all other YAML says whose it is.
func TestTheConfigurationsOfTheDocsAreTaken(t *testing.T) {
	taken := 0
	seen := map[string]bool{}
	for name, page := range docstest.Pages(t, "../../..") {
		for _, b := range docstest.Blocks(page) {
			if b.Language != "yaml" {
				continue
			}
			seen[b.Of] = true
			var err error
			switch key, other := others[b.Of]; {
			case other:
				err = hasKey(b.Text, key)
			case b.Of == "settings": // rego's tests load it
				err = hasKey(b.Text, "settings")
			case b.Of == "part":
				taken++
				err = isTaken(t, b.Text+rest)
				if isTaken(t, b.Text) == nil {
					err = errors.New("it is whole, and no part")
				}
			case b.Of != "":
				err = errors.New("the word after yaml is none that this test knows")
			default:
				taken++
				err = isTaken(t, b.Text)
			}
			if err != nil {
				t.Errorf("%s:%d: %v\n%s", name, b.Line, err, b.Text)
			}
		}
		for _, shown := range printedYAML.FindAllStringSubmatch(page, -1) {
			taken++
			if err := isTaken(t, strings.ReplaceAll(shown[1], "\n    ", "\n")); err != nil {
				t.Errorf("%s: %v\n%s", name, err, shown[1])
			}
		}
	}
	if taken < 35 {
		t.Errorf("only %d configurations were found", taken)
	}
	for of := range maps.Keys(others) {
		if !seen[of] {
			t.Errorf("no page shows YAML of %s", of)
		}
	}
}

// rest is what is understood of a configuration of which a page shows a part.
const rest = "\nplugins: {slack: {}, email: {}, telegram: {}}\n"

// printedYAML is a file that a page prints at a prompt.
var printedYAML = regexp.MustCompile(`(?m)^ {4}\$ cat \S+\.yaml\n {4}((?:[^$\n].*\n {4})+)`)

// isTaken loads a configuration as the program does.
func isTaken(t *testing.T, text string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "holdgate.yaml")
	if err := os.WriteFile(path, []byte(leftOut.Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": t.TempDir(), "USER": "ada"}
	_, err := Load(Flags{Config: path}, func(name string) string { return env[name] })
	return err
}

// leftOut puts something in place of what the pages leave out.
var leftOut = strings.NewReplacer(`"9c5b..."`, strings.Repeat("9", 64), `"2f7c..."`, strings.Repeat("2", 64), `"5d1e..."`, strings.Repeat("5", 64),
	`"SHA256:..."`, "SHA256:"+strings.Repeat("A", 43), `sha256: "..."`, "sha256: "+strings.Repeat("1", 64), "{...}", "{}")

// hasKey reads documents of another program's and wants a key in one of them.
func hasKey(text, key string) error {
	found := false
	for in := yaml.NewDecoder(strings.NewReader(text)); ; {
		var keys map[string]any
		if err := in.Decode(&keys); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		found = found || keys[key] != nil
	}
	if !found {
		return errors.New("no key on top is " + key)
	}
	return nil
}

// YAML stands between fences, so that the test above sees it.
func TestYAMLIsFenced(t *testing.T) {
	known := slices.Collect(maps.Keys(keysOf(reflect.TypeFor[Config]())))
	known = append(known, "settings")
	for name, page := range docstest.Pages(t, "../../..") {
		for i, line := range strings.Split(page, "\n") {
			code, indented := strings.CutPrefix(line, "    ")
			key, _, is := strings.Cut(code, ":")
			if indented && is && slices.Contains(known, key) && !inFences(page, i+1) && !strings.Contains(printedYAML.FindString(page), line) {
				t.Errorf("%s:%d: put the YAML between fences: %s", name, i+1, code)
			}
		}
	}
}

// inFences reports whether a line stands between fences.
func inFences(page string, line int) bool {
	return slices.ContainsFunc(docstest.Blocks(page), func(b docstest.Block) bool {
		return b.Line < line && line <= b.Line+strings.Count(b.Text, "\n")
	})
}
