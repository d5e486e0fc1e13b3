package holdgate_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var writeReferences = flag.Bool("write-references", false, "write docs/api-*.md anew from the documents of the APIs, and break long lines of the changelog")

// references are pages, by the documents that they are made from.
var references = map[string]string{
	"docs/api-approvers.md": "approvals/api/openapi.json",
	"docs/api-agents.md":    "proxy/agentapi/openapi.json",
	"docs/api-authzen.md":   "proxy/authzen/openapi.json",
}

func readOpenAPI(t *testing.T, name string) object {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var root yaml.Node // JSON is YAML, and its nodes keep the order
	if err := yaml.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	return object{root.Content[0]}
}

// The references of both APIs say what their documents say, which tests in their packages hold to what is served.
func TestTheReferencesAreThoseOfTheDocuments(t *testing.T) {
	for page, document := range references {
		want := reference(readOpenAPI(t, document), document)
		if *writeReferences {
			if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, _ := os.ReadFile(page); string(got) != want {
			t.Errorf("%s is not what %s says: go test . -run TestTheReferences -write-references", page, document)
		}
	}
}

// An object is one of the document, or nothing.
type object struct{ node *yaml.Node }

func (o object) at(names ...string) object {
	for _, name := range names {
		found := object{}
		for key, value := range o.each() {
			if key == name {
				found = value
			}
		}
		o = found
	}
	return o
}

// each is the members of an object, in the document's order.
func (o object) each() func(yield func(string, object) bool) {
	return func(yield func(string, object) bool) {
		if o.node == nil || o.node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i < len(o.node.Content); i += 2 {
			if !yield(o.node.Content[i].Value, object{o.node.Content[i+1]}) {
				return
			}
		}
	}
}

func (o object) list() (all []object) {
	if o.node != nil && o.node.Kind == yaml.SequenceNode {
		for _, n := range o.node.Content {
			all = append(all, object{n})
		}
	}
	return all
}

func (o object) text() string {
	if o.node == nil {
		return ""
	}
	return o.node.Value
}

// reference is a document of OpenAPI as a page: its operations, then its types.
func reference(doc object, source string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", doc.at("info", "title").text())
	at := "/v1/openapi.json"
	for path := range doc.at("paths").each() {
		if strings.HasSuffix(path, "/openapi.json") {
			at = path
		}
	}
	fmt.Fprintf(&b, "Made from [%s](../%s).\nThe door itself serves that at `%s`.\n\n", source, source, at)
	b.WriteString(wrap(doc.at("info", "description").text()))
	b.WriteString("\n## Requests\n\nA parameter with `*` must be there.\n")
	for path, operations := range doc.at("paths").each() {
		for method, operation := range operations.each() {
			writeOperation(&b, strings.ToUpper(method)+" "+path, operation)
		}
	}
	b.WriteString("\n## Types\n\nA member with `*` is always there.\n")
	for name, schema := range doc.at("components", "schemas").each() {
		fmt.Fprintf(&b, "\n### %s\n", name)
		if said := schema.at("description").text(); said != "" {
			b.WriteString("\n" + wrap(said))
		}
		if !has(schema.at("properties")) {
			b.WriteString("\n" + wrap(sentence(typeOf(schema))))
			continue
		}
		b.WriteString("\n| member | type | |\n|---|---|---|\n")
		writeMembers(&b, "", schema)
	}
	return b.String()
}

func writeOperation(b *strings.Builder, title string, operation object) {
	fmt.Fprintf(b, "\n### %s\n\n%s", title, wrap(sentence(operation.at("summary").text())+" "+operation.at("description").text()))
	if len(operation.at("parameters").list()) > 0 {
		b.WriteString("\n| parameter | in | type | |\n|---|---|---|---|\n")
		for _, p := range operation.at("parameters").list() {
			fmt.Fprintf(b, "| `%s`%s | %s | %s | %s |\n", p.at("name").text(), star(p.at("required").text() == "true"), p.at("in").text(), typeOf(p.at("schema")), cell(p.at("description").text()))
		}
	}
	for _, schema := range operation.at("requestBody", "content").each() {
		body := schema.at("schema")
		fmt.Fprintf(b, "\nBody: %s.\n", typeOf(body))
		if has(body.at("properties")) {
			b.WriteString("\n| member | type | |\n|---|---|---|\n")
			writeMembers(b, "", body)
		}
	}
	var problems []string
	b.WriteString("\n| status | answer | |\n|---|---|---|\n")
	for status, answer := range operation.at("responses").each() {
		if strings.HasSuffix(answer.at("$ref").text(), "/Problem") {
			problems = append(problems, status)
			continue
		}
		var kinds []string
		for media, content := range answer.at("content").each() {
			kind := typeOf(content.at("schema"))
			if media != "application/json" {
				kind += " as `" + media + "`"
			}
			kinds = append(kinds, kind)
		}
		said := answer.at("description").text()
		for header, h := range answer.at("headers").each() {
			said += fmt.Sprintf("; header `%s`: %s", header, h.at("description").text())
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", status, strings.Join(kinds, ", "), cell(said))
	}
	if slices.Sort(problems); len(problems) > 0 {
		fmt.Fprintf(b, "| %s | [Problem](#problem) | |\n", strings.Join(problems, ", "))
	}
}

func writeMembers(b *strings.Builder, under string, schema object) {
	required := schema.at("required").list()
	for name, member := range schema.at("properties").each() {
		always := slices.ContainsFunc(required, func(o object) bool { return o.text() == name })
		fmt.Fprintf(b, "| `%s%s`%s | %s | %s |\n", under, name, star(always), typeOf(member), cell(member.at("description").text()))
		for _, inner := range []struct {
			schema object
			under  string
		}{{member, "."}, {member.at("items"), "[]."}, {member.at("additionalProperties"), ".*."}} {
			writeMembers(b, under+name+inner.under, inner.schema)
		}
	}
}

func has(o object) bool { return o.node != nil && len(o.node.Content) > 0 }

func star(always bool) string {
	if always {
		return " *"
	}
	return ""
}

// typeOf is a schema in few words.
func typeOf(schema object) string {
	if ref := schema.at("$ref").text(); ref != "" {
		name := ref[strings.LastIndex(ref, "/")+1:]
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	}
	kind := schema.at("type").text()
	var either []string
	for _, each := range slices.Concat(schema.at("type").list(), schema.at("oneOf").list()) {
		if one := each.text(); one != "" {
			either = append(either, one)
		} else {
			either = append(either, typeOf(each))
		}
	}
	switch {
	case kind == "array":
		kind = "list of " + typeOf(schema.at("items"))
	case has(schema.at("additionalProperties")):
		kind = "object, each member " + typeOf(schema.at("additionalProperties"))
	case len(schema.at("enum").list()) > 0:
		for _, value := range schema.at("enum").list() {
			either = append(either, "`"+strconv.Quote(value.text())+"`")
		}
		kind = strings.ReplaceAll(strings.Join(either, ", "), `"`, "")
	case len(either) > 0:
		kind = strings.Join(either, " or ")
	case kind == "":
		kind = "any"
	}
	for _, said := range []struct{ key, how string }{
		{"format", ", %s"}, {"minimum", ", at least %s"}, {"maximum", ", at most %s"}, {"minItems", ", at least %s"}, {"maxItems", ", at most %s"},
		{"maxLength", ", at most %s characters"}, {"default", ", `%s` if left out"},
	} {
		if value := schema.at(said.key).text(); value != "" {
			kind += fmt.Sprintf(said.how, value)
		}
	}
	return kind
}

// cell is a text that ends no cell of a table and is no HTML.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(text)
}

func sentence(text string) string {
	if text = strings.TrimSpace(text); strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// wrap is a paragraph whose lines end at 100 columns.
func wrap(text string) string {
	var b strings.Builder
	columns := 0
	for _, word := range strings.Fields(cell(text)) {
		switch n := len([]rune(word)); {
		case columns == 0:
			columns = n
		case columns+1+n > 100:
			b.WriteByte('\n')
			columns = n
		default:
			b.WriteByte(' ')
			columns += 1 + n
		}
		b.WriteString(word)
	}
	b.WriteByte('\n')
	return b.String()
}
