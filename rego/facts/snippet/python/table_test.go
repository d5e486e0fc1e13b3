package python

import "testing"

// rows are programs with what they are read into.
var rows = []struct{ code, want string }{
	{`print("a" "b")`, `(block (block (call print (join "a" "b"))))`},
	{`x: int = 1 if y else f(2)`, `(block (block (block (assign x (block)) int (assign x (or (number 1) (call f (number 2)) (data y))))))`},
	{`a, (b, *c) = d`, `(block (block (block (assign (list a (list b (elem c))) d))))`},
	{`x += [1]`, `(block (block (add += x (list (number 1)))))`},
	{`x = y = z`, `(block (block (block (assign x z) (assign y z))))`},
	{"for k, v in d.items():\n    print(k)\nelse:\n    q()", `(block (block (assign (list k~1 v~2) (elem (call (attr .items d)))) (block (block (call print k~1))) (block (block (call q))) (assign k k~1) (assign v v~2)))`},
	{"with open(\"a\") as f, g() as (h, i):\n    f.read()", `(block (block (assign f (enter (call open "a"))) (assign (list h i) (enter (call g))) (block (block (call (attr .read f))))))`},
	{"def f(a, b=1, *c, d: int = 2, **e) -> str:\n    return a", `(block (func f ["a~1" "b~2" "*c~3" "d~4" "**e~5"] (assign b~2 (number 1)) int (assign d~4 (number 2)) str (block (block (return a~1)))))`},
	{`lambda x, *y: x`, `(block (block (func ["x~1" "*y~2"] (return x~1))))`},
	{"class A(B, metaclass=M):\n    x = 1\n    def m(self): pass", `not read: line 1: a class with a metaclass`},
	{"@app.route(\"/\")\ndef f(): yield 1", `(block (block (func f (block (return (number 1)))) (assign f (call (call (attr .route app) "/") f))))`},
	{"try:\n    a()\nexcept (B, C) as e:\n    b(e)\nfinally:\n    c()", `(block (block (block (block (call a))) (list B C) (assign e (or (data) %thrown)) (block (block (call b e))) (block (block (call c)))))`},
	{`import a.b, c as d`, `(block (block (block (import a.b) (import c [" as d"]))))`},
	{`from a.b import c as d, e`, `(block (block (import a.b ["c as d" "e"])))`},
	{"from a import (b,\n  c)", `(block (block (import a ["b" "c"])))`},
	{`print(f"{x!r:>{w}} {y=}")`, `(block (block (call print (join "" (data (data x) ">" w "") " " (data y) ""))))`},
	{`f'{d["k"]}' 'b'`, `(block (block (join "" (item d "k") "" "b")))`},
	{"rb'a\\n'", `(block (block (data "a\\n")))`},
	{`a[1:2, ::3]`, `(block (block (item a (number 1) (data) (number 2) (data) (number 3))))`},
	{`a / b // c`, `(block (block (data (slash a b) c)))`},
	{`a if b else c`, `(block (block (or a c (data b))))`},
	{`[x for x in y if z]`, `(block (block (block (assign x~1 (elem y)) z (list x~1))))`},
	{`{k: v for k, v in z}`, `(block (block (block (assign (list k~1 v~2) (elem z)) (dict k~1 v~2))))`},
	{`{**a, "b": 1}`, `(block (block (dict (elem a) (item a (data)) "b" (number 1))))`},
	{`f(*a, k=v, **b)`, `(block (block (call ["" "*" "k" "**"] f a v b)))`},
	{"match x:\n    case {\"a\": [1, *r]} if r: f(r)\n    case A(b=c) | None: g()\n    case _: h()", `(block (block x (block (block (block "a" (block (block (block (number 1)) (block (assign r (or (elem (elem (elem x))) (elem (elem (elem (elem x)))))))))))) r (block (call f r)) (block (block (block A (block (assign c (or (elem x) (elem (elem x)))))) (number None))) (block (call g)) (block (block (data))) (block (call h))))`},
	{`x = (y := f())`, `(block (block (block (assign x (assign y (call f))))))`},
	{"global x\nnonlocal y", `(block (block (data)) (block (data)))`},
	{`del a.b, c[0]`, `(block (block (data (list (attr .b a) (item c (number 0))))))`},
	{`a.b.c(1)(2)`, `(block (block (call (call (attr .c (attr .b a)) (number 1)) (number 2))))`},
	{`async def f(): await g()`, `(block (func f (block (call g))))`},
	{`x = yield`, `(block (block (block (assign x (data)))))`},
	{`a < b <= c and not d`, `(block (block (or (data a b c) (data d))))`},
	{`assert a, b`, `(block (block (data a b)))`},
	{`while True: break`, `(block (block (number True) (block (data))))`},
	{`f(x for x in y)`, `(block (block (call f (block (assign x~1 (elem y)) (list x~1)))))`},
	{"\"\\x2fetc\" \"\\u0061\"", `(block (block (join "/etc" "a")))`},
	{`type X = int`, `not read: line 1: more than a statement on a line`},
	{`print "a"`, `not read: line 1: more than a statement on a line`},
	{`x = 1 +`, `not read: line 1: no expression where one is expected`},
	{"\tif a:\n  b", `not read: line 2: an indentation that matches none before`},
	{`eval('1'); exec(c)`, `(block (block (call eval "1") (call exec c)))`},
	{`α = 1`, `not read: line 1: 'Î'`},
	{"\\\n", `not read: line 1: a backslash at the beginning of a line`},
	{"\"\\N{DASH}\"", `(block (block (join (data))))`},
}

func read(code string) string {
	program, err := Parse(code)
	if err != nil {
		return "not read: " + err.Error()
	}
	return program.String()
}

func TestParse(t *testing.T) {
	for _, row := range rows {
		if got := read(row.code); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.code, got, row.want)
		}
	}
}

// FuzzParse holds that no program makes the reader fail, and that nothing in it hides what
// stands behind it.
func FuzzParse(f *testing.F) {
	for _, row := range rows {
		f.Add(row.code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		program, err := Parse(code + "\nimport zz_q\n")
		if err == nil && foundIn(program)["import zz_q"] == 0 {
			t.Errorf("%q: an import behind it is not seen", code)
		}
	})
}
