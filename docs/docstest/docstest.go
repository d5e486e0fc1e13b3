// Package docstest reads the pages of this repository for the tests that hold them true.
//
// A block of Rego, YAML, JSON or HTTP stands between fences, and its info string begins with the
// language. Words after that say what it is of, where that is not Holdgate's own: "yaml envoy" is
// a part of Envoy's configuration, "json answer POST /v1/gates" a body of the API.
package docstest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Pages are all that is written for readers, by their paths below root, with slashes. The changelog
// is not among them: its lines are of their time.
func Pages(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" && name != "testdata" || strings.HasPrefix(d.Name(), ".") && name != ".") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".md") || name == "CHANGELOG.md" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 20 {
		t.Fatalf("only %d pages were found below %s", len(found), root)
	}
	return found
}

// A Block is code that stands between fences.
type Block struct {
	Line     int // of its first fence, from 1
	Language string
	Of       string // what the info string says after the language
	Text     string // without the indentation of the fence
}

// Blocks are those of a page, in its order.
func Blocks(page string) (list []Block) {
	var b *Block
	indent := ""
	for i, line := range strings.SplitAfter(page, "\n") {
		bare := strings.TrimSpace(line)
		switch fence := strings.HasPrefix(bare, "```"); {
		case fence && b == nil:
			indent = line[:strings.Index(line, "`")]
			language, of, _ := strings.Cut(strings.TrimLeft(bare, "`"), " ")
			b = &Block{Line: i + 1, Language: language, Of: of}
		case fence:
			list, b = append(list, *b), nil
		case b != nil:
			b.Text += strings.TrimPrefix(line, indent)
		}
	}
	return list
}

// MostWords is how many words a sentence has at most, so that it is read once.
const MostWords = 30

var (
	linkTarget  = regexp.MustCompile(`\]\([^)]*\)`)
	inlineCode  = regexp.MustCompile("`[^`]*`")
	htmlTag     = regexp.MustCompile(`<[^>]*>`)
	sentenceEnd = regexp.MustCompile(`[.!?]["')*]*\s+`)
	oneWord     = regexp.MustCompile(`[\pL\pN][\pL\pN'’-]*`)
)

// TooLong are the sentences of a paragraph that have too many words, each with their number. What stands
// in backticks is one word.
func TooLong(paragraph string) (list []string) {
	whole := inlineCode.ReplaceAllString(htmlTag.ReplaceAllString(linkTarget.ReplaceAllString(paragraph, "]"), ""), "code")
	for _, s := range sentenceEnd.Split(whole, -1) {
		if n := len(oneWord.FindAllString(s, -1)); n > MostWords {
			list = append(list, fmt.Sprintf("a sentence has %d words, more than %d: %.80s ...", n, MostWords, strings.TrimSpace(s)))
		}
	}
	return list
}
