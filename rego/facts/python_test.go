package facts

import (
	"strings"
	"testing"
)

// FuzzPython holds that reading code never panics, and that code which names
// what reaches further never only prints.
func FuzzPython(f *testing.F) {
	for _, code := range []string{`print(1)`, `import json; json.load(open("a"))`, `f"{a!r:>{b}}"`, `from re import sub as s, match`, "'''a\n'''", `x = r'\\'`} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		if _, ok := printsOnly(code); !ok || strings.ContainsAny(code, "'\"#") {
			return // the rest would stand in a string or a comment
		}
		if _, ok := printsOnly(code + "\n;exec(a)"); ok && !strings.HasSuffix(strings.TrimSpace(code), ".") {
			t.Errorf("%q with exec only prints", code)
		}
	})
}

func TestPythonThatOnlyPrints(t *testing.T) {
	for _, tt := range []struct {
		code  string
		ok    bool
		reads string
	}{
		{`print(1 + 1)`, true, ""},
		{`import sys; print(sys.version)`, true, ""},
		{`import json,sys; d = json.load(sys.stdin); print(d["name"], len(d.get("items", [])))`, true, ""},
		{"import json\nwith open('a.json') as f:\n    for k, v in json.load(f).items():\n        print(f'{k}: {v[\"x\"]}')  # all", true, "a.json"},
		{`from collections import Counter; print(Counter("abc").most_common(1))`, true, ""},
		{`import json as j; print(j.dumps({"a": 1}, indent=2))`, true, ""},
		{`print("os.system('rm a')")`, true, ""},
		{`print('''a
b''')`, true, ""},
		{`import os; os.remove("a")`, false, ""},
		{`import json, os`, false, ""},
		{`from sys import modules; modules["os"].remove("a")`, false, ""},
		{`from sys import *`, false, ""},
		{`import sys; sys.modules["os"].remove("a")`, false, ""},
		{`import json; json.codecs.open("a", "w")`, false, ""},
		{`import statistics; statistics.sys`, false, ""},
		{`open("a", "w").write("x")`, false, ""},
		{`open(mode="w", file="a")`, false, ""},
		{`o = open; o("a", "w")`, false, ""},
		{`open(f"a" "b")`, false, ""},
		{`print(open(f"{x}").read())`, false, ""},
		{`exec("import os")`, false, ""},
		{`f"{exec('x')}"`, false, ""},
		{`f'''{__import__("os").remove("a")}'''`, false, ""},
		{`().__class__.__bases__`, false, ""},
		{`__builtins__`, false, ""},
		{`import importlib`, false, ""},
		{"ｅｘｅｃ('x')", false, ""},
		{"# coding: utf-7\nprint(1)", false, ""},
		{"# a\rexec('x')", false, ""},
		{"print(1) \\\nexec('x')", false, ""},
		{`print("a`, false, ""},
		{`getattr(1, "x")`, false, ""},
		{`import sys as _; print(1)`, false, ""},
	} {
		reads, ok := printsOnly(tt.code)
		if ok != tt.ok || ok && strings.Join(reads, " ") != tt.reads {
			t.Errorf("%s\n got %v, %q\nwant %v, %q", tt.code, ok, reads, tt.ok, tt.reads)
		}
	}
}
