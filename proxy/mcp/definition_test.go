package mcp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

func TestToolsReadsListsByTheirForm(t *testing.T) {
	one := []holdgate.Definition{{Name: "a", Description: "does a", Schema: []byte(`{"type": "object"}`), Annotations: []byte(`{"readOnlyHint":true}`)}}
	tests := []struct {
		name, message string
		want          []holdgate.Definition
		ok, fails     bool
	}{
		{"a list", `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"does a","inputSchema":{"type": "object"},"annotations":{"readOnlyHint":true},"title":"A"}],"nextCursor":"x"}}`, one, true, false},
		{"a part that says no more than a name", `{"id":1,"result":{"tools":[{"name":"b","description":null,"annotations":null}]}}`, []holdgate.Definition{{Name: "b"}}, true, false},
		{"an empty list", `{"id":1,"result":{"tools":[]}}`, nil, true, false},
		{"another result", `{"id":1,"result":{"content":[{"type":"text","text":"tools"}],"structuredContent":{"tools":[]}}}`, nil, false, false},
		{"an error", `{"id":1,"error":{"code":1,"message":"tools"}}`, nil, false, false},
		{"tools that are no list", `{"id":1,"result":{"tools":{}}}`, nil, false, false},
		{"no JSON", `tools`, nil, false, false},
		{"a tool without a name", `{"id":1,"result":{"tools":[{"description":"x"}]}}`, nil, true, true},
		{"a key twice", `{"id":1,"result":{"tools":[{"name":"a","name":"b"}]}}`, nil, true, true},
		{"a key in another case", `{"id":1,"Result":{"tools":[]}}`, nil, true, true},
		{"a tool that is none", `{"id":1,"result":{"tools":["a"]}}`, nil, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok, err := Tools([]byte(tt.message))
			if ok != tt.ok || (err != nil) != tt.fails {
				t.Fatalf("ok %v, %v", ok, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" && !tt.fails {
				t.Error(diff)
			}
		})
	}
}

func TestWithoutToolsLeavesAllElseAsItIs(t *testing.T) {
	const list = ` {"id":1, "result": { "tools" : [ {"name":"a"}, {"name":"b","x":1} ,{"name":"c"} ], "nextCursor":"y"} } `
	for hidden, want := range map[string]string{
		"":    list,
		"a":   ` {"id":1, "result": { "tools" : [ {"name":"b","x":1} ,{"name":"c"} ], "nextCursor":"y"} } `,
		"b":   ` {"id":1, "result": { "tools" : [ {"name":"a"} ,{"name":"c"} ], "nextCursor":"y"} } `,
		"abc": ` {"id":1, "result": { "tools" : [  ], "nextCursor":"y"} } `,
	} {
		got := string(WithoutTools([]byte(list), func(name string) bool { return strings.Contains(hidden, name) }))
		if got != want {
			t.Errorf("without %q:\n%s, want\n%s", hidden, got, want)
		}
	}
}

func TestSchemas(t *testing.T) {
	doubling := `{"$ref":"#/$defs/a0","$defs":{` // 2 to the power of 40
	for i := range 40 {
		doubling += `"a` + string(rune('0'+i)) + `":{"allOf":[{"$ref":"#/$defs/a` + string(rune('0'+i+1)) + `"},{"$ref":"#/$defs/a` + string(rune('0'+i+1)) + `"}]},`
	}
	doubling += `"a` + string(rune('0'+40)) + `":{"type":"object"}}}`
	tests := []struct {
		name, schema, arguments string
		fit                     holdgate.Fit // empty where the schema does not compile
		misfits                 []string
	}{
		{"fits", `{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1.0}`, holdgate.FitWhole, nil},
		{"says where and why, and no value", `{"properties":{"a/b":{"items":{"enum":["x"]}},"n":{"maximum":3}}}`, `{"a/b":["x","secret"],"n":4}`, holdgate.FitNot, []string{"/a~1b/1: enum", "/n: maximum"}},
		{"an older draft", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"exclusiveMaximum":3}}}`, `{"a":3}`, holdgate.FitNot, []string{"/a: exclusiveMaximum"}},
		{"of its own parts", `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`, `{"a":1}`, holdgate.FitNot, []string{"/a: type"}},
		{"an unknown keyword", `{"x-mcp-header":"Region","format":"telepathy"}`, `{}`, holdgate.FitWhole, nil},
		{"a large number", `{"properties":{"a":{"type":"integer"}}}`, `{"a":1e999999}`, holdgate.FitUnchecked, nil},
		{"a large call", `{"type":"object"}`, `{"a":"` + strings.Repeat("x", 17<<20) + `"}`, holdgate.FitUnchecked, nil},
		{"true", `true`, `{}`, holdgate.FitWhole, nil},
		{"a schema elsewhere", `{"$ref":"https://example.com/s"}`, "", "", nil},
		{"a file", `{"$ref":"file:///etc/passwd"}`, "", "", nil},
		{"a circle", `{"properties":{"a":{"$ref":"#"}}}`, "", "", nil},
		{"parts that double", doubling, "", "", nil},
		{"a base of its own", `{"properties":{"a":{"$id":"http://x/","$ref":"#/$defs/a"}}}`, "", "", nil},
		{"a large number in it", `{"maximum":1e999999}`, "", "", nil},
		{"no schema", `{"type":7}`, "", "", nil},
		{"too many parts", `{"enum":[` + strings.Repeat("1,", maxSchemaNodes) + `1]}`, "", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := CompileSchema([]byte(tt.schema))
			if (err != nil) != (tt.fit == "") {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			fit, misfits := s.Check([]byte(tt.arguments))
			if diff := cmp.Diff(tt.misfits, misfits); fit != tt.fit || diff != "" {
				t.Errorf("%s\n%s", fit, diff)
			}
		})
	}
}

func FuzzTools(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"does a","inputSchema":{"type":"object"}},{"name":"b"}],"nextCursor":"x"}}`), []byte(`{"a":1}`))
	f.Add([]byte(`{"id":1,"result":{"\u0074ools":[{"name":"a","inputSchema":{"$ref":"#/$defs/x","$defs":{"x":{"anyOf":[{"type":"string"}]}}}}]}}`), []byte(`{}`))
	f.Add([]byte(`{"id":1,"result":{"tools":[{"name":"a","inputSchema":{"properties":{"n":{"multipleOf":0.01,"pattern":"(a*)*b"}}}}]}}`), []byte(`{"n":1e400}`))
	f.Fuzz(func(t *testing.T, message, arguments []byte) {
		defs, ok, err := Tools(message)
		if !ok || err != nil {
			return
		}
		if got := WithoutTools(message, func(string) bool { return false }); string(got) != string(message) {
			t.Fatalf("nothing was hidden, and it became %q", got)
		}
		left, _, err := Tools(WithoutTools(message, func(name string) bool { return name == defs0(defs) }))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range left {
			if d.Name == defs0(defs) {
				t.Errorf("%q is still listed", d.Name)
			}
		}
		for _, d := range defs {
			if _, err := d.Hash(); err != nil {
				t.Error(err)
			}
			if s, err := CompileSchema(d.Schema); err == nil && wire.Strict(arguments) == nil {
				s.Check(arguments)
			}
		}
	})
}

func defs0(defs []holdgate.Definition) string {
	if len(defs) == 0 {
		return ""
	}
	return defs[0].Name
}
