package rego

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"
)

func TestThePackIsReadAsOPAReadsIt(t *testing.T) {
	t.Parallel()
	pack, err := readPack()
	if err != nil {
		t.Fatal(err)
	}
	want, err := readData(pack.data)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readDataBy(pack.data, readShared)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the pack's data, as opa reads it (-) and as the engine does (+):\n%s", diff)
	}
	made, err := astObject(got)
	if err != nil {
		t.Fatal(err)
	}
	if whole := ast.MustInterfaceToValue(want); made.Compare(whole) != 0 || made.Hash() != whole.Hash() {
		t.Error("the pack's data as a policy reads it is not what opa makes of it")
	}
}

func TestReadShared(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{
		"", "a", "[1, -2, 0.5, 1e3]", "{a: null, b: ~, c: true, d: False, e: yes, f: 'true', g: 2026-01-02}",
		"a: &x {b: 1}\nc: *x\nd: [*x, *x]", "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\ne: {c: 3, <<: *x}",
		"\"1\": a\n'b c': {}\nempty: []",
	} {
		var want any
		if err := util.Unmarshal([]byte(doc), &want); err != nil {
			t.Fatal(err)
		}
		got, err := readShared([]byte(doc))
		if err != nil {
			t.Errorf("%s: %v", doc, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, as opa reads it (-) and as readShared does (+):\n%s", doc, diff)
		}
	}
	for doc, want := range map[string]string{
		"a: 0x10": "as JSON has it", "a: !!binary aGk=": "!!binary", "a: &x {b: 1}\nc: {<<: [*x]}": "no single object", "a: {": "line 1",
	} {
		if v, err := readShared([]byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %v, %v; want an error with %q", doc, v, err, want)
		}
	}
}

// The engine compiles the pack alone without the check of its types.
func TestThePacksTypesAreRight(t *testing.T) {
	t.Parallel()
	pack, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCompiler()
	if err != nil {
		t.Fatal(err)
	}
	if c.Compile(pack.program().modules); c.Failed() {
		t.Error(c.Errors)
	}
}
