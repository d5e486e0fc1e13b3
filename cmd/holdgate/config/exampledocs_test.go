package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Every configuration that the pages show is one that is read.
func TestTheConfigurationsOfTheDocsAreRead(t *testing.T) {
	names, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, name := range append(names, "../../../README.md", "../../../policies/README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range yamlBlocks(string(text)) {
			if !isConfiguration(block) {
				continue
			}
			read++
			var c Config
			if _, err := c.parse("holdgate.yaml", []byte(leftOut.Replace(block))); err != nil {
				t.Errorf("%s shows a configuration that is not read: %v\n%s", filepath.Base(name), err, block)
			}
		}
	}
	if read < 30 {
		t.Errorf("only %d configurations were found", read)
	}
}

// leftOut puts something in place of what the pages leave out of hashes.
var leftOut = strings.NewReplacer(`"9c5b..."`, strings.Repeat("9", 64), `"2f7c..."`, strings.Repeat("2", 64), `"5d1e..."`, strings.Repeat("5", 64), `"SHA256:..."`, "SHA256:"+strings.Repeat("A", 43))

var (
	fencedYAML = regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```")
	someKey    = regexp.MustCompile(`^[a-z_]+:`)
)

// yamlBlocks are the fenced blocks of a page that say that they are YAML, and its indented ones that begin like it.
func yamlBlocks(page string) (blocks []string) {
	for _, m := range fencedYAML.FindAllStringSubmatch(page, -1) {
		blocks = append(blocks, m[1])
	}
	for part := range strings.SplitSeq(page, "\n\n") {
		var b strings.Builder
		for line := range strings.Lines(part) {
			code, is := strings.CutPrefix(line, "    ")
			if !is {
				b.Reset()
				break
			}
			b.WriteString(code)
		}
		if someKey.MatchString(b.String()) {
			blocks = append(blocks, b.String())
		}
	}
	return blocks
}

// isConfiguration reports whether some key on top of a document is one of a configuration, and the document is no
// settings of the policy's.
func isConfiguration(block string) bool {
	var keys map[string]yaml.Node
	if strings.HasPrefix(block, "# settings.yaml") || yaml.Unmarshal([]byte(block), &keys) != nil {
		return false
	}
	for key := range keysOf(reflect.TypeFor[Config]()) {
		if _, is := keys[key]; is {
			return true
		}
	}
	return false
}
