package rego

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate/policies"
	"github.com/holdgate/holdgate/rego/facts"
	"github.com/holdgate/holdgate/rego/ruleset"
	"github.com/holdgate/holdgate/rego/settings"
	"github.com/holdgate/holdgate/rego/verdict"
)

// The tests of this file hold the shipped pack's files to their own rules.

func TestPackPassesItsOwnTests(t *testing.T) {
	r, err := Test(t.Context(), TestOptions{Coverage: true})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.Write(&out, false); err != nil {
		t.Fatal(err)
	}
	if r.Failed > 0 || len(r.Results) < 50 {
		t.Errorf("%d tests, %d failed:\n%s", len(r.Results), r.Failed, &out)
	}
	if r.Coverage.Coverage < 100 {
		t.Errorf("the tests reach %.2f %% of the pack, want all: `opa test --coverage policies` says what they miss", r.Coverage.Coverage)
	}
}

func TestPackIsFormattedAndStrict(t *testing.T) {
	compiler, err := newCompiler()
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]*ast.Module{}
	eachRego(t, func(name string, body []byte) {
		formatted, err := format.SourceWithOpts(name, body, format.Opts{RegoVersion: ast.RegoV1})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(formatted, body) {
			t.Errorf("%s is not formatted: run opa fmt", name)
		}
		modules[name] = mustParse(t, name, body)
	})
	if compiler.WithStrict(true).Compile(modules); compiler.Failed() {
		t.Error(compiler.Errors)
	}
}

func TestSchemaFindsATypoInThePack(t *testing.T) {
	compiler, err := newCompiler()
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]*ast.Module{}
	eachRego(t, func(name string, body []byte) {
		if name == "commands/commands.rego" {
			planted := bytes.Replace(body, []byte("input.facts.commands"), []byte("input.facts.comands"), 1)
			if bytes.Equal(planted, body) {
				t.Fatal("there was nothing to mistype")
			}
			body = planted
		}
		modules[name] = mustParse(t, name, body)
	})
	if compiler.Compile(modules); !compiler.Failed() || !strings.Contains(compiler.Errors.Error(), "comands") {
		t.Errorf("got %v, want an error that names the field", compiler.Errors)
	}
}

func TestEveryRuleThatDecidesSaysWhatItIs(t *testing.T) {
	eachRego(t, func(name string, body []byte) {
		if strings.HasSuffix(name, "_test.rego") {
			return
		}
		if _, err := fs.Stat(policies.FS, strings.TrimSuffix(name, ".rego")+"_test.rego"); err != nil && name != "commands/classes.rego" && name != "decision/questions.rego" && name != "containment/unread.rego" {
			t.Errorf("%s has no test beside it", name)
		}
	})
	for _, r := range open(t, Options{}).Rules() {
		if len(r.IDs) > 0 && (r.Title == "" || r.Description == "" || r.Risk == "") {
			t.Errorf("%s: the METADATA of %s lack a title, a description or custom.risk", r.Location, r.IDs)
		}
	}
}

// TestTheIDsOfShippedRulesAreKnown holds that the pack, which keeps rules of the
// user's from them, lists all of its ids.
func TestTheIDsOfShippedRulesAreKnown(t *testing.T) {
	pr, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range ruleset.ListRules(pr.modules) {
		want = append(want, r.IDs...)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	var listed []string
	for _, r := range pr.modules[ruleset.CustomModule].Rules {
		if ruleset.RuleName(r) == "shipped_ids" {
			listed, err = verdict.Texts(r.Head.Value.Value)
		}
	}
	slices.Sort(listed)
	if diff := cmp.Diff(want, listed); diff != "" || err != nil {
		t.Errorf("shipped_ids in policies/custom/custom.rego (-rules +list), %v:\n%s", err, diff)
	}
}

// TestReadmeListsEveryRule holds that the table of rules in README.md is that
// of the rules' own METADATA.
func TestReadmeListsEveryRule(t *testing.T) {
	const file = "../policies/README.md"
	type row struct {
		risks, titles []string
	}
	rows := map[string]*row{}
	for _, r := range open(t, Options{}).Rules() {
		for _, id := range r.IDs {
			if id == "default" {
				continue
			}
			if rows[id] == nil {
				rows[id] = &row{}
			}
			if !slices.Contains(rows[id].risks, r.Risk) {
				rows[id].risks = append(rows[id].risks, r.Risk)
			}
			rows[id].titles = append(rows[id].titles, r.Title)
		}
	}
	var table strings.Builder
	table.WriteString("| rule | risk | what it is about |\n|---|---|---|\n")
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", id, strings.Join(rows[id].risks, ", "), strings.Join(rows[id].titles, "; "))
	}
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(body), "| rule | risk |")
	old, after, ended := strings.Cut(rest, "\n\n")
	if !ok || !ended {
		t.Fatal("README.md has no table of rules")
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+table.String()+"\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table.String(), "| rule | risk |"+old+"\n"); diff != "" {
		t.Errorf("README.md (-METADATA +README.md), `go test ./rego -run Readme -update` writes it:\n%s", diff)
	}
}

func eachRego(t *testing.T, fn func(name string, body []byte)) {
	t.Helper()
	names, err := fs.Glob(policies.FS, "*/*.rego")
	if err != nil || len(names) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	for _, name := range names {
		body, err := policies.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fn(name, body)
	}
}

func mustParse(t *testing.T, name string, body []byte) *ast.Module {
	t.Helper()
	m, err := ast.ParseModuleWithOpts(name, string(body), ast.ParserOptions{RegoVersion: ast.RegoV1, ProcessAnnotation: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFactsInInputAreTheFactsAsJSON(t *testing.T) {
	for _, f := range []facts.Facts{{}, filled(t)} {
		want, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		inInput, err := ast.JSON(factsObject(f, settings.Commands{}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(inInput)
		if err != nil {
			t.Fatal(err)
		}
		var w, g any
		if err := json.Unmarshal(want, &w); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &g); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(lowered(w), g); diff != "" {
			t.Errorf("facts (-json +input):\n%s", diff)
		}
	}
}

func TestSchemaOfInputKnowsEveryFact(t *testing.T) {
	body, err := policies.FS.ReadFile("schemas/input/input.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(body, &schema); err != nil {
		t.Fatal(err)
	}
	known, _ := schema["properties"].(map[string]any)["facts"].(map[string]any)
	raw, err := json.Marshal(filled(t))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	// The facts that input adds.
	command := v.(map[string]any)["commands"].([]any)[0].(map[string]any)
	command["seen"], command["class"], command["subcommand"], command["target"] = "whole", "pass", "get", map[string]any{"config": "c", "context": "c", "cluster": "c", "namespace": "n", "profile": "p", "project": "p", "region": "r"}
	compareWithSchema(t, "facts", lowered(v), known)
}

// lowered is a value with the names of its fields in lower case, as input
// writes all of them: some types of facts leave theirs to Go.
func lowered(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, part := range v {
			out[strings.ToLower(k)] = lowered(part)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, part := range v {
			out[i] = lowered(part)
		}
		return out
	}
	return v
}

// compareWithSchema reports fields that only one of the two has.
func compareWithSchema(t *testing.T, at string, v any, schema map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for k, part := range v {
			below, ok := properties[k].(map[string]any)
			if !ok {
				t.Errorf("%s.%s is not in the schema", at, k)
				continue
			}
			compareWithSchema(t, at+"."+k, part, below)
		}
		for k := range properties {
			if _, ok := v[k]; !ok {
				t.Errorf("%s.%s is in the schema only", at, k)
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		compareWithSchema(t, at+"[]", v[0], items)
	}
}

// filled is Facts with every field set.
func filled(t *testing.T) facts.Facts {
	t.Helper()
	var f facts.Facts
	fill(t, reflect.ValueOf(&f).Elem())
	return f
}

func fill(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		t.Fatal(fmt.Errorf("no way to fill a %v", v.Type()))
	}
}

func TestTestsOfAPolicyAreRunAndReported(t *testing.T) {
	path := write(t, map[string]string{
		"a.rego": custom,
		"a_test.rego": `package holdgate.custom.team_test

import data.holdgate

call := {"kind": "tool_call", "session": {"mode": "auto"}, "tool": {"category": "exec"}, "facts": {"commands": [{"program": "make", "argv": ["make"]}]}}

test_make_is_refused if holdgate.decision.rule == "team.no_make" with input as call

test_wrong if holdgate.decision.rule == "nothing" with input as call
`,
	})
	r, err := Test(t.Context(), TestOptions{Policy: Options{Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Results) != 2 || r.Failed != 1 {
		t.Errorf("got %d results, %d failed, want 2 and 1: %+v", len(r.Results), r.Failed, r.Results)
	}
	for _, result := range r.Results {
		if result.Failed != (result.Name == "test_wrong") || !strings.Contains(result.Location, "a_test.rego:") {
			t.Errorf("got %+v", result)
		}
	}
	if r, err = Test(t.Context(), TestOptions{Policy: Options{Path: path}, Run: "make"}); err != nil || len(r.Results) != 1 {
		t.Errorf("by name: got %v, %v, want one result", r, err)
	}
}

// OPA takes the last of two values under one key, and says nothing.
func TestNoKeyStandsTwiceInTheData(t *testing.T) {
	err := fs.WalkDir(policies.FS, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".yaml") {
			return err
		}
		body, err := policies.FS.ReadFile(name)
		if err != nil {
			return err
		}
		var data map[string]any
		if err := yaml.Unmarshal(body, &data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
