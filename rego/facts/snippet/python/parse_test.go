package python

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// dumpPython prints each statement at the top of the files of Python's own
// library, with what CPython's parser finds in it: the names that are called,
// attributes, names, imports and texts, one JSON object a line.
const dumpPython = `
import ast, collections, glob, json, os, sys, warnings
warnings.simplefilter("ignore")
lib = os.path.dirname(os.__file__)
files = sorted(glob.glob(lib + "/*.py") + glob.glob(lib + "/json/*.py") + glob.glob(lib + "/test/test_[defglmpsuw]*.py"))
for f in files:
    try:
        src = open(f, encoding="utf-8").read()
        tree = ast.parse(src)
    except (SyntaxError, UnicodeDecodeError):
        continue
    lines = src.split("\n")
    for st in tree.body:
        first = min([st.lineno] + [d.lineno for d in getattr(st, "decorator_list", [])])
        text = "\n".join(lines[first - 1:st.end_lineno]) + "\n"
        try:
            one = ast.parse(text)
        except SyntaxError:
            continue
        found = collections.Counter()
        def note(*what): found[" ".join(what)] += 1
        for n in ast.walk(one):
            if isinstance(n, ast.Call): note("call", n.func.attr if isinstance(n.func, ast.Attribute) else n.func.id if isinstance(n.func, ast.Name) else "?")
            elif isinstance(n, ast.Attribute): note("attr", n.attr)
            elif isinstance(n, ast.Name): note("name", n.id)
            elif isinstance(n, ast.Import):
                for a in n.names: note("import", a.name)
            elif isinstance(n, ast.ImportFrom):
                for a in n.names: note("import", n.module or "", a.name)
            elif isinstance(n, ast.Subscript): note("item")
        print(json.dumps({"file": os.path.basename(f), "text": text, "found": found}))
`

type pythonSample struct {
	File, Text string
	Found      map[string]int
}

// TestPythonIsReadAsCPythonDoes holds that no call, attribute, name or import
// is missed in whatever of Python's own library is read without an error.
func TestPythonIsReadAsCPythonDoes(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here: the parser is not compared with CPython's")
	}
	out, err := exec.Command(python, "-c", dumpPython).Output()
	if err != nil {
		t.Skipf("python3 cannot print its own trees, so the parser is not compared with CPython's: %v", err)
	}
	read, refused, calls := 0, map[string]int{}, 0
	for line := range bytes.Lines(out) {
		var sample pythonSample
		if err := json.Unmarshal(line, &sample); err != nil {
			t.Fatal(err)
		}
		program, err := Parse(sample.Text)
		if err != nil {
			refused[err.(tree.SyntaxError).What]++
			continue
		}
		read++
		got := foundIn(program)
		for what, n := range sample.Found {
			if got[what] < n {
				t.Errorf("%s: %q: %d, CPython finds %d in\n%s", path.Base(sample.File), what, got[what], n, sample.Text[:min(300, len(sample.Text))])
			}
			if len(what) > 5 && what[:5] == "call " {
				calls += n
			}
		}
	}
	if read < 3000 {
		t.Errorf("only %d statements were read, %v", read, refused)
	}
	t.Logf("%d statements with %d calls were read, refused: %v", read, calls, refused)
}

// foundIn counts what stands in a program, as dumpPython does.
func foundIn(program *tree.Expr) map[string]int {
	found := make(map[string]int)
	program.Walk(func(e *tree.Expr) {
		switch e.Op {
		case tree.OpCall:
			callee := "?"
			if f := e.Kids[0]; f.Op == tree.OpAttr || f.Op == tree.OpName {
				callee, _, _ = strings.Cut(f.Text, "~")
			}
			found["call "+callee]++
		case tree.OpAttr:
			found["attr "+e.Text]++
		case tree.OpName:
			name, _, _ := strings.Cut(e.Text, "~")
			found["name "+name]++
		case tree.OpItem:
			found["item"]++
		case tree.OpImport:
			for _, key := range e.Keys {
				if key == "" || key[0] == ' ' {
					found["import "+e.Text]++
					continue
				}
				key, _, _ = strings.Cut(key, " as ")
				found["import "+e.Text+" "+key]++
			}
		}
	})
	return found
}
