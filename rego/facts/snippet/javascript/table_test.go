package javascript

import (
	"testing"

	"github.com/holdgate/holdgate/rego/facts/snippet/tree"
)

// rows are programs with what they are read into, and whether with types.
var rows = []struct {
	typed      bool
	code, want string
}{
	{false, "console.log(\"a\" + `b${c}`)", `(block (call (attr .log console) (join "a" (join "b" c ""))))`},
	{false, `const {a, b: [c = 1, ...d], ...e} = f()`, `(block (block (block (assign (dict "a" (name .a ["own"]) "b" (list (name .c ["own"]) (elem (name .d ["own"]))) (elem (data)) (name .e ["own"])) (call f)) (assign (name .c ["own"]) (number 1)))))`},
	{false, `let x = a ? b : c ?? d`, `(block (block (block (assign (name .x ["own"]) (block a (or b (or c d)))))))`},
	{false, `x += 1; x.y ||= 2`, `(block (add += x (number 1)) (assign (attr .y x) (or (attr .y x) (number 2))))`},
	{false, `for (const [k, v] of Object.entries(o)) f(k)`, `(block (block (block (assign (list (name .k~1 ["own"]) (name .v~2 ["own"])) (elem (call (attr .entries Object) o)))) (block (call f (name .k~1 ["own"])))))`},
	{false, `for (let i = 0; i < 3; i++) { g(i) }`, `(block (block (block (block (assign (name .i~1 ["own"]) (number 0)))) (number (name .i~1 ["own"]) (number 3)) (number (name .i~1 ["own"])) (block (call g (name .i~1 ["own"])))))`},
	{false, `function f(a, b = 1, ...c) { return a }`, `(block (func f ["this#1" "a~1" "b~2" "*c~3"] (block (assign (name .b~2 ["own"]) (number 1))) (return (name .a~1 ["own"]))))`},
	{false, `const g = async (x) => { await h(x); return x }`, `(block (block (block (assign (name .g ["own"]) (func ["x~1"] (block) (call h (name .x~1 ["own"])) (return (name .x~1 ["own"])))))))`},
	{false, `class A extends B { #p = 1; static s = 2; constructor(q) { super(q); this.#p = q } get z() { return this.#p } }`, `(block (block (class A B (block (number 2) a static field) (func __init__ ["this#1" "q~1"] (block) (call (attr .__init__ %super) (name .q~1 ["own"])) (block (assign (attr .#p this#1) (name .q~1 ["own"]))) (assign (attr .#p this#1) (number 1))) (func get z ["this#2"] (block) (return (attr .#p this#2))))))`},
	{false, `try { a() } catch ({message}) { b(message) } finally { c() }`, `(block (block (block (call a)) (assign %thrown (data)) (block (assign (dict "message" (name .message~1 ["own"])) %thrown)) (call b (name .message~1 ["own"])) (call c)))`},
	{false, `import d, {e as f} from "m"; import * as g from "n"`, `(block (import m ["default as d" "e as f"]) (import n [" as g"]))`},
	{false, `import("x").then(y)`, `(block (call (attr .then (call import "x")) y))`},
	{false, `require("fs")["readFileSync"](a)`, `(block (call (item (call require "fs") "readFileSync") a))`},
	{false, `new Foo(1, ...b)`, `(block (new ["" "" "*"] Foo (number 1) b))`},
	{false, `a?.b?.[c]?.(d)`, `(block (call (item (attr .b a) c) d))`},
	{false, `({["a" + b]: c, d() { return this }, get e() { return 1 }, ...f})`, `(block (dict (join "a" b) c "d" (func ["this#1"] (block) (return this#1)) "e" (block (func ["this#2"] (block) (return (number 1))) a getter or a setter) (elem (data)) f))`},
	{false, "tag`a${b}c`", `(block (block tag b a template with a tag))`},
	{false, `switch (a) { case 1: b(); default: c() }`, `(block (block a (number 1) (call b) (or) (call c)))`},
	{false, `label: while (1) { break label }`, `(block (block (number 1) (block (block))))`},
	{false, `throw new Error("x")`, `(block (assign %thrown (new Error "x")))`},
	{false, `delete a.b`, `(block (number (attr .b a)))`},
	{false, "\"\\x61\\u{62}\"", `(block "ab")`},
	{false, `/[/]"/.test(a)`, `(block (call (attr .test (data)) a))`},
	{false, `export default f()`, `(block (call f))`},
	{false, `with (a) { b }`, `not read: a statement of the kind *js.WithStmt`},
	{false, `var a = 1 / 2; // c`, `(block (block (block (assign a (number (number 1) (number 2))))))`},
	{false, `<!-- x`, `not read: an HTML comment`},
	{false, `x = 1 /* -->`, `not read: no JavaScript: unexpected EOF in comment on line 1 and column 13     1: x = 1 /* -->           `},
	{false, "`${`${a}`}`", `(block (join "" (join "" a "") ""))`},
	{false, `async function* f() { yield* g() }`, `(block (func f ["this#1"] (block) (block (return (call g)) (data))))`},
	{false, `a = b = c`, `(block (block (assign a (block (assign b c)))))`},
	{false, `[a, b] = [b, a]`, `(block (block (assign (list a b) (list b a))))`},
	{false, `typeof a`, `(block (number a))`},
	{false, `void f(), g`, `(block (block (number (call f)) g))`},
	{false, `new.target`, `(block (block new.target))`},
	{false, `"use strict"`, `(block (block))`},
	{false, "\\u0061(1)", `not read: the name \u0061`},
	{true, `const x: number = f<string>(y as any)!`, `(block (block (block (assign (name .x ["own"]) (call f y)))))`},
	{true, `enum E { A = f() }`, `(block (block (block (assign E (call (func ["E2~1"] (block) (block (assign (item (name .E2~1 ["own"]) (block (assign (item (name .E2~1 ["own"]) "A") (call f)))) "A")) (return (name .E2~1 ["own"]))) (or E (dict)))))))`},
	{true, "interface I { a: b }\ntype T = typeof c;\ng()", `(block (call g))`},
	{true, `import type { P } from "./p"`, `(block)`},
	{true, `let x = <any>y`, `(block (block (block (assign (name .x ["own"]) y))))`},
	{true, `namespace N { export const a = f() }`, `(block (block (block (assign N (or)))) (call (func ["N2~1"] (block) (block (assign (attr .a (name .N2~1 ["own"])) (call f)))) (or N (block (assign N (dict))))))`},
}

func read(typed bool, code string) string {
	parse := ParseTyped
	if !typed {
		parse = func(code string) (*tree.Expr, error) { return Parse(code, false) }
	}
	program, err := parse(code)
	if err != nil {
		return "not read: " + err.Error()
	}
	return program.String()
}

func TestParse(t *testing.T) {
	for _, row := range rows {
		if got := read(row.typed, row.code); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.code, got, row.want)
		}
	}
}

// FuzzParse holds that no program makes the reader fail, and that nothing in it hides what
// stands behind it.
func FuzzParse(f *testing.F) {
	for _, row := range rows {
		f.Add(row.typed, row.code)
	}
	f.Fuzz(func(t *testing.T, typed bool, code string) {
		parse := ParseTyped
		if !typed {
			parse = func(code string) (*tree.Expr, error) { return Parse(code, false) }
		}
		program, err := parse(code + "\n;zz_q(1)\n")
		if err == nil && foundInScript(program)["call zz_q"] == 0 {
			t.Errorf("%q: a call behind it is not seen", code)
		}
	})
}
