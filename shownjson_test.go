package holdgate_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdgate/holdgate/docs/docstest"
)

// jsonOf are the words after json that say what a block is, where the API does not take it or answer with it.
// What is said of input and acme is held by the tests of rego and proxy/route.
var jsonOf = []string{"input", "acme", "coaz", "mcp", "mcp-client", "editor"}

var (
	elision  = regexp.MustCompile(`,? ?(?:\.\.\.)(?: ?([\]}]))`) // {...}, [...], and the rest of an object
	apiWords = regexp.MustCompile(`^(request|answer) ([A-Z]+) (/\S+)$`)
	apiLine  = regexp.MustCompile(`^(GET|PUT|POST|PATCH|DELETE) +(/\S+)(?: +(\{.*?\}|\[.*?\]))?(?: +#.*)?$`)
	apiRow   = regexp.MustCompile("^\\| `([A-Z]+)(?:`, `([A-Z]+))? (/[^` ?]+)[^|]*\\|(.*)$")
	rowBody  = regexp.MustCompile("`(\\{\"[^`]*\\})`")
	curlCall = regexp.MustCompile(`\$ curl .*?'?(?:http://127\.0\.0\.1:73\d\d|\$\w+)(/[\w/.{}-]+)[\s\S]*?(?:-d '([^']+)')`)
)

// Each piece of JSON on the pages is what the page shows it as: what the API takes or answers with fits its
// document. A body of which something is left out (...) may lack what is required.
func TestTheJSONOfThePagesIsWhatItShows(t *testing.T) {
	apis := openAPIs(t)
	checked := 0
	for name, page := range docstest.Pages(t, ".") {
		if _, made := references[name]; made {
			continue
		}
		fits := func(line int, way, method, path, body string) {
			t.Helper()
			checked++
			if err := apis.fits(way, method, path, body); err != nil {
				t.Errorf("%s:%d: %s %s: %v\n%s", name, line, method, path, err, body)
			}
		}
		for _, b := range docstest.Blocks(page) {
			switch words := apiWords.FindStringSubmatch(b.Of); {
			case b.Language == "json" && words != nil:
				fits(b.Line, words[1], words[2], words[3], b.Text)
			case b.Language == "json" && !slices.Contains(jsonOf, b.Of):
				t.Errorf("%s:%d: say after json what it is: request METHOD PATH, answer METHOD PATH, or one of %v", name, b.Line, jsonOf)
			case b.Language == "json":
				checked++
				for line := range strings.SplitSeq(regexp.MustCompile(`(?m)^(->|<-) `).ReplaceAllString(b.Text, "\x00"), "\x00") {
					if _, err := read(line); err != nil && strings.TrimSpace(line) != "" {
						t.Errorf("%s:%d: %v\n%s", name, b.Line, err, line)
					}
				}
			case b.Language == "http" && strings.Contains(b.Text, " HTTP/1.1\n"):
				head, body, _ := strings.Cut(b.Text, "\n\n")
				first := strings.Fields(head)
				if !apis.has(first[0], first[1]) { // a model's API: that it is JSON has to do
					_, err := read(body)
					if checked++; err != nil {
						t.Errorf("%s:%d: %v\n%s", name, b.Line, err, body)
					}
					continue
				}
				fits(b.Line, "request", first[0], first[1], body)
			case b.Language == "http":
				for i, line := range strings.Split(strings.TrimSpace(b.Text), "\n") {
					m := apiLine.FindStringSubmatch(line)
					if m == nil {
						t.Errorf("%s:%d: no request: %s", name, b.Line+1+i, line)
						continue
					}
					fits(b.Line+1+i, "request", m[1], m[2], m[3])
				}
			}
		}
		for i, line := range strings.Split(page, "\n") {
			if m := apiRow.FindStringSubmatch(line); m != nil && m[1] != "GET" {
				for _, body := range rowBody.FindAllStringSubmatch(m[4], -1) {
					if _, err := read(body[1]); err == nil { // others list the members of an answer
						fits(i+1, "request", m[1], m[3], body[1])
					}
				}
			}
			if code, is := strings.CutPrefix(line, "    {"); is && strings.HasSuffix(code, "}") {
				if _, err := read("{" + code); err != nil {
					t.Errorf("%s:%d: %v\n%s", name, i+1, err, line)
				}
			}
		}
		for _, m := range curlCall.FindAllStringSubmatch(page, -1) {
			if apis.has("POST", m[1]) {
				fits(strings.Count(page[:strings.Index(page, m[0])], "\n")+1, "request", "POST", m[1], m[2])
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d pieces of JSON were found", checked)
	}
}

// read is JSON, without what a page leaves out of it.
func read(text string) (any, error) {
	return jsonschema.UnmarshalJSON(strings.NewReader(elision.ReplaceAllString(text, "$1")))
}

// apis are the documents of OpenAPI.
type apis struct {
	compilers map[bool]*jsonschema.Compiler // true: nothing is required
	paths     map[string]map[string]any     // what each document says of its paths
}

func openAPIs(t *testing.T) apis {
	t.Helper()
	a := apis{compilers: map[bool]*jsonschema.Compiler{false: jsonschema.NewCompiler(), true: jsonschema.NewCompiler()}, paths: map[string]map[string]any{}}
	for _, file := range references {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for partial, compiler := range a.compilers {
			var doc map[string]any
			if err := json.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			a.paths[file], _ = doc["paths"].(map[string]any)
			if partial {
				requireNothing(doc)
			}
			if err := compiler.AddResource("file:///"+file, doc); err != nil {
				t.Fatal(err)
			}
		}
	}
	return a
}

// requireNothing takes every list of required members out.
func requireNothing(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, list := v["required"].([]any); list {
			delete(v, "required")
		}
		for _, member := range v {
			requireNothing(member)
		}
	case []any:
		for _, item := range v {
			requireNothing(item)
		}
	}
}

// find is the document that has an operation, and the operation's place in it.
func (a apis) find(method, path string) (file string, operation map[string]any, pointer string) {
	path, _, _ = strings.Cut(path, "?")
	for file, paths := range a.paths {
		for template, methods := range paths {
			pattern := "^" + regexp.MustCompile(`\\\{[^/]*\\\}`).ReplaceAllString(regexp.QuoteMeta(template), `[^/]+`) + "$"
			operation, is := methods.(map[string]any)[strings.ToLower(method)].(map[string]any)
			if is && regexp.MustCompile(pattern).MatchString(path) {
				escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(template)
				return file, operation, "/paths/" + url.PathEscape(escaped) + "/" + strings.ToLower(method)
			}
		}
	}
	return "", nil, ""
}

func (a apis) has(method, path string) bool {
	_, operation, _ := a.find(method, path)
	return operation != nil
}

// fits holds a body against what a request takes, or what its answer is.
func (a apis) fits(way, method, path, body string) error {
	file, operation, pointer := a.find(method, path)
	if operation == nil {
		return fmt.Errorf("no API has it")
	}
	if body == "" {
		return nil
	}
	v, err := read(body)
	if err != nil {
		return err
	}
	if pointer += "/requestBody/content"; way == "answer" {
		responses, _ := operation["responses"].(map[string]any)
		for status := range responses {
			if status[0] == '2' {
				pointer = strings.TrimSuffix(pointer, "/requestBody/content") + "/responses/" + status + "/content"
			}
		}
	}
	schema, err := a.compilers[elision.MatchString(body)].Compile("file:///" + file + "#" + pointer + "/application~1json/schema")
	if err != nil {
		return err
	}
	return schema.Validate(v)
}
