package javascript

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// dumpNode prints, for each program that it reads as a JSON text a line, what
// the parser inside of Node.js finds in it: the names that are called, properties,
// texts, functions and imports. It prints null for what is no program.
const dumpNode = `
const acorn = require("internal/deps/acorn/acorn/dist/acorn");
const prop = (n) => (n.property.type == "PrivateIdentifier" ? "#" : "") + n.property.name;
const found = (src) => {
  let tree;
  for (const sourceType of ["script", "module"]) {
    try { tree = acorn.parse(src, { ecmaVersion: "latest", sourceType, allowHashBang: true, allowAwaitOutsideFunction: sourceType == "module" }); break; } catch {}
  }
  if (!tree) return null;
  const out = Object.create(null);
  const note = (...what) => { const k = what.join(" "); out[k] = (out[k] || 0) + 1; };
  const visit = (n, parent, key) => {
    if (Array.isArray(n)) { for (const x of n) visit(x, parent, key); return; }
    if (!n || typeof n.type !== "string") return;
    switch (n.type) {
    case "CallExpression":
      if (n.callee.type == "Super") break;
      note("call", n.callee.type == "MemberExpression" ? (n.callee.computed ? "?" : prop(n.callee)) : n.callee.type == "Identifier" ? n.callee.name : "?"); break;
    case "ImportExpression": note("call import"); break;
    case "NewExpression": note("new"); break;
    case "MemberExpression":
      if (n.computed) note("item"); else note("attr", prop(n)); break;
    case "Identifier":
      if (parent && !(parent.type == "MemberExpression" && key == "property" && !parent.computed) && !(key == "key" && !parent.computed) && !(/^(Import|Export)|Label|^(Break|Continue)|^Meta/.test(parent.type))
        && key != "id" && key != "superClass" && key != "params" && parent.type != "RestElement" && !(parent.type == "AssignmentPattern" && key == "left") && parent.type != "ArrayPattern") note("name", n.name);
      break;
    case "Literal": if (typeof n.value == "string" && !n.regex && !/^(Import|Export)/.test(parent.type) && parent.directive === undefined && key != "key") note("text", n.value); break;
    case "FunctionExpression": case "FunctionDeclaration": case "ArrowFunctionExpression": note("function"); break;
    case "ImportDeclaration": note("import", n.source.value); break;
    }
    for (const k in n) if (k != "type" && k != "regex") visit(n[k], n, k);
  };
  visit(tree);
  return out;
};
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (l) => { const out = found(JSON.parse(l)); console.log(JSON.stringify(out, (k, v) => v && typeof v == "object" ? Object.fromEntries(Object.entries(v)) : v)); });
`

// nodeFinds asks Node.js what it finds in programs.
func nodeFinds(t *testing.T, programs []string) []map[string]int {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here: the parser is not compared with that of Node.js")
	}
	var in bytes.Buffer
	for _, p := range programs {
		line, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	cmd := exec.Command(node, "--expose-internals", "-e", dumpNode)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("node has no parser to compare with: %v", err)
	}
	found := make([]map[string]int, 0, len(programs))
	for line := range bytes.Lines(out) {
		var f map[string]int
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		found = append(found, f)
	}
	if len(found) != len(programs) {
		t.Fatalf("%d programs, node answers %d", len(programs), len(found))
	}
	return found
}

// foundInScript counts what stands in a program, as dumpNode does.
func foundInScript(program *tree.Expr) map[string]int {
	found := make(map[string]int)
	program.Walk(func(e *tree.Expr) {
		switch e.Op {
		case tree.OpCall:
			callee := "?"
			if f := e.Kids[0]; f.Op == tree.OpAttr || f.Op == tree.OpName {
				callee, _, _ = strings.Cut(f.Text, "~")
			}
			found["call "+callee]++
		case tree.OpNew:
			found["new"]++
		case tree.OpAttr:
			found["attr "+e.Text]++
		case tree.OpItem:
			found["item"]++
		case tree.OpName:
			name, _, _ := strings.Cut(e.Text, "~")
			found["name "+name]++
		case tree.OpText:
			found["text "+e.Text]++
		case tree.OpFunc:
			found["function"]++
		case tree.OpImport:
			found["import "+e.Text]++
		}
	})
	return found
}

// compareWithNode holds that nothing is missed in what is read without an error.
func compareWithNode(t *testing.T, names, programs []string) (read int) {
	refused := make(map[string]int)
	for i, want := range nodeFinds(t, programs) {
		program, err := Parse(programs[i], false)
		if err != nil {
			refused[strings.SplitN(err.Error(), " on line", 2)[0]]++
			continue
		}
		if want == nil {
			continue // nothing of it runs
		}
		read++
		got := foundInScript(program)
		for what, n := range want {
			if got[what] < n {
				t.Errorf("%s: %s: %d, node finds %d in\n%.300s", names[i], what, got[what], n, programs[i])
			}
		}
	}
	t.Logf("%d programs, %d were read, refused: %v", len(programs), read, refused)
	return read
}

// TestScriptsAreReadAsNodeDoes holds that no call, property, name or text is
// missed in the packages of the test clients that are read without an error.
func TestScriptsAreReadAsNodeDoes(t *testing.T) {
	root := os.Getenv("HOLDGATE_CLIENTS")
	if root == "" {
		t.Skip("no HOLDGATE_CLIENTS: the parser is not compared with that of Node.js")
	}
	limit := 400
	if os.Getenv("HOLDGATE_ALL_SCRIPTS") != "" {
		limit = 1 << 30
	}
	var names, programs []string
	err := filepath.WalkDir(filepath.Join(root, "node_modules"), func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || ext != ".js" && ext != ".mjs" && ext != ".cjs" {
			return err
		}
		if len(programs) == limit {
			return filepath.SkipAll
		}
		raw, err := os.ReadFile(path)
		if err == nil && len(raw) < outcome.MaxBytes {
			names, programs = append(names, path), append(programs, string(raw))
		}
		return err
	})
	if err != nil || len(programs) == 0 {
		t.Skip("no packages of test clients", err)
	}
	if read := compareWithNode(t, names, programs); read < len(programs)/2 {
		t.Errorf("only %d of %d programs are read", read, len(programs))
	}
}
