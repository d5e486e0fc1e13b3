package snippet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// seeds adds the programs in testdata of a language.
func seeds(f *testing.F, language string) {
	f.Helper()
	files, err := filepath.Glob("testdata/" + language + "-*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no programs", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, program := range strings.Split(string(raw), "\n---\n")[1:] {
			code, _, _ := strings.Cut(program, "\n=> ")
			f.Add(code)
		}
	}
}

// FuzzPython holds that no program makes the reader fail, and that one which is
// seen to do no harm is still seen to do some with a line behind it that does.
func FuzzPython(f *testing.F) {
	seeds(f, "python")
	f.Fuzz(func(t *testing.T, code string) {
		e, err := Read("python", code)
		if err != nil || len(e.Unseen) > 0 {
			return
		}
		if more, err := Read("python", code+"\nimport os as zz\nzz.fork()\n"); err == nil && len(more.Unseen) == 0 {
			t.Errorf("%q: with os.fork() behind it nothing is unseen", code)
		}
	})
}

// FuzzNode holds the same of JavaScript.
func FuzzNode(f *testing.F) {
	seeds(f, "node")
	f.Fuzz(func(t *testing.T, code string) {
		e, err := Read("node", code)
		if err != nil || len(e.Unseen) > 0 {
			return
		}
		if more, err := Read("node", code+"\n;process.kill(1)\n"); err == nil && len(more.Unseen) == 0 {
			t.Errorf("%q: with process.kill(1) behind it nothing is unseen", code)
		}
	})
}

// TestScriptBounds holds that large and deep programs are refused in time.
func TestScriptBounds(t *testing.T) {
	for name, code := range map[string]string{
		"size":      strings.Repeat("a(1);\n", 20_000),
		"lines":     strings.Repeat("1\n", 11_000),
		"brackets":  strings.Repeat("(", 10_000) + "1" + strings.Repeat(")", 10_000),
		"lists":     strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		"objects":   "x=" + strings.Repeat("{a:", 10_000) + "1" + strings.Repeat("}", 10_000),
		"blocks":    strings.Repeat("{", 10_000) + strings.Repeat("}", 10_000),
		"arrows":    strings.Repeat("()=>", 10_000) + "1",
		"defaults":  strings.Repeat("(a=", 5_000) + "1" + strings.Repeat(")=>1", 5_000),
		"nots":      strings.Repeat("!", 10_000) + "1",
		"sums":      strings.Repeat("1+", 10_000) + "1",
		"commas":    strings.Repeat("a,", 10_000) + "1",
		"templates": strings.Repeat("`${", 5_000) + strings.Repeat("}`", 5_000),
		"functions": strings.Repeat("function f(){", 4_000) + strings.Repeat("}", 4_000),
		"classes":   strings.Repeat("class A{m(){", 4_000) + strings.Repeat("}}", 4_000),
		"chains":    "a" + strings.Repeat(".b", 10_000),
		"calls":     "f" + strings.Repeat("()", 10_000),
		"patterns":  "let " + strings.Repeat("[", 5_000) + "a" + strings.Repeat("]", 5_000) + "=1",
		"parens":    strings.Repeat("((a", 1_000) + strings.Repeat("),0)", 1_000),
		"ifs":       strings.Repeat("if(1)", 10_000) + "1",
		"labels":    strings.Repeat("a:", 10_000) + "1",
	} {
		began := time.Now()
		if e, err := Read("node", code); err == nil && len(e.Unseen) == 0 {
			t.Errorf("%s: read without an error", name)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s: it takes %v", name, took)
		}
	}
}

func TestBounds(t *testing.T) {
	for name, code := range map[string]string{
		"lines":    strings.Repeat("x\n", 11_000),
		"nesting":  strings.Repeat("(", 5000) + strings.Repeat(")", 5000),
		"nots":     strings.Repeat("not ", 5000) + "1",
		"powers":   strings.Repeat("2**", 5000) + "1",
		"lambdas":  strings.Repeat("lambda: ", 5000) + "1",
		"blocks":   strings.Repeat("if 1: ", 5000) + "1",
		"f-string": strings.Repeat("f'{", 300) + strings.Repeat("}'", 300),
		"match":    strings.Repeat("match x:\n", 5000),
		"with":     strings.Repeat("with (", 5000),
	} {
		if e, err := Read("python", code); err == nil && len(e.Unseen) == 0 {
			t.Errorf("%s: read without an error", name)
		}
	}
}
