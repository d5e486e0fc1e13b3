package snippet

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// flows are ways in which a value gets from one variable into another: N is a
// new name, A, B and C are variables that hold texts, lists and objects, T is a
// text, U is a number for names that are used once.
var flows = []string{
	`const N = [A, B];`, `const N = [A, ...[B, C]];`, `const N = {x: A, y: B};`, `const N = {...{x: A}, y: B};`, `const N = {A, B};`, `const N = {["x"]: A, ["y" + "z"]: B};`,
	`let N = A; N = B;`, `let N = A || B;`, `let N = A ?? B;`, `let N = A && B;`, `let N = U % 2 ? A : B;`, `let N; N ||= A;`, `let N = A; N &&= B;`, `let N = null; N ??= B;`, `const N = (A, B);`,
	`const [N] = [A, B];`, `const [, N] = [A, B];`, `const [...N] = [A, B];`, `const [N = B] = [undefined, A];`, `const {x: N} = {x: A, y: B};`, `const {x: N = A} = {y: B};`, `const {x: {y: N}} = {x: {y: A}};`, `const {y, ...N} = {x: A, y: B};`, `let N; ({x: N} = {x: A});`, `let N; [N] = [A];`, `let N; [[N]] = [[A]];`,
	`const {x: [N]} = {x: [A]};`, `let N; ({x: N = B} = {});`, `let N; [N = B] = [];`, `let N = T; for (N of [A, B]);`, `let N = T; for (const q of [A, B]) N = q;`, `let N = T; for (const [q] of [[A]]) N = q;`, `let N = T; for (const {x: q} of [{x: B}]) N = q;`, `let N = T; for (const k in {x: A}) N = k;`, `let N = T; for (const k in A) N = A[k];`,
	`const N = ((p) => p)(A);`, `const N = ((p, q) => q)(A, B);`, `const N = ((p, q = B) => q)(A);`, `const N = ((...r) => r)(A, B);`, `const N = ((...r) => r[1])(A, B);`, `const N = (({x}) => x)({x: A});`, `const N = (([p]) => p)([A]);`, `const N = ((p, q) => q)(...[A, B]);`, `const N = ((p, q, r) => r)(A, ...[B], C);`, `const N = (function (p) { return p; })(A);`,
	`function fU(p, q) { return q; } const N = fU(A, B);`, `function fU(p) { return p; } const N = fU(A); fU(B);`, `const fU = (p) => [p, B]; const N = fU(A)[0];`, `function fU() { return gU(A); } function gU(p) { return p; } const N = fU();`, `let N = T; function fU(p) { N = p; } fU(A);`, `const fU = (g) => g(A); const N = fU((p) => p);`, `const fU = (p) => (q) => p; const N = fU(A)(B);`,
	`const oU = {m(p) { return this.x; }, x: A}; const N = oU.m(B);`, `const oU = {x: A, m: function () { return this; }}; const N = oU.m().x;`, `const oU = {m() { return this.x; }}; const pU = {m: oU.m, x: B}; const N = pU.m();`, `const oU = {x: T}; oU.x = A; const N = oU.x;`, `const oU = {}; oU["x"] = A; const N = oU.x;`, `const oU = {}; oU[T] = A; const N = oU[T];`, `const oU = {x: A}; const N = oU["x"];`, `const oU = {}; const pU = oU; pU.x = A; const N = oU.x;`, `const oU = {o: {}}; oU.o.x = A; const N = oU.o.x;`, `const oU = {x: A}; delete oU.y; const N = oU?.x;`, `const lU = [T]; lU[0] = A; const N = lU[0];`, `const lU = [A]; const mU = lU; mU[0] = B; const N = lU[0];`, `const oU = {}; oU.x ||= A; const N = oU.x;`, `const oU = {x: T}; [oU.x] = [A]; const N = oU.x;`, `const oU = {}; ({x: oU.x} = {x: A}); const N = oU.x;`, `const oU = {}; for (oU.x of [A]); const N = oU.x;`,
	`class CU { x = A; m() { return this.x; } } const N = new CU().m();`, `class CU { constructor(p) { this.x = p; } } const N = new CU(A).x;`, `class CU { #x; constructor(p) { this.#x = p; } m() { return this.#x; } } const N = new CU(A).m();`, `class CU { static m(p) { return p; } } const N = CU.m(A);`, `class CU { m(p, q) { return q; } } const N = new CU().m(A, B);`, `class CU { m(q) { const f = (p) => p; return f(q); } } const N = new CU().m(A);`, `class CU { m() { function f(p, q) { return q; } return f(A, B); } } const N = new CU().m();`, `class CU {} const cU = new CU(); cU.x = A; const N = cU.x;`, `class CU { f = (p) => p; } const N = new CU().f(A);`, `class CU { f = (p, q) => q; } const N = new CU().f(A, B);`, `class CU { m() { return this.x; } } const N = CU.m ? T : new CU().m.name;`, `function CU(p) { this.x = p; } const N = new CU(A).x;`, `class CU { m() { return [1].map(() => this.x)[0]; } x = B; } const N = new CU().m();`,
	`const lU = [A]; lU.push(B); const N = lU[1];`, `const lU = [A, B]; lU.reverse(); const N = lU[0];`, `const lU = [A, B]; lU["reverse"](); const N = lU[0];`, `const lU = [A, B].sort(); const N = lU[0];`, `const lU = [A, B]; lU.shift(); const N = lU[0];`, `const lU = [A]; lU.unshift(B); const N = lU[0];`, `const lU = [A, T]; lU.splice(0, 1, B); const N = lU[0];`, `const N = [A, B].pop();`, `const N = [A, B].at(-1);`, `const lU = [A, B]; lU.fill(C); const N = lU[0];`, `const N = [A].concat([B], C);`, `const N = [A, B].slice(1)[0];`, `const lU = [A]; lU.length = 0; lU.push(B); const N = lU[0];`, `const lU = [A, B]; const N = lU["1"];`,
	`const N = [A, B].map((p) => p);`, `const N = [A, B].map((p) => ({x: p}))[0].x;`, `const N = [A, B].filter((p) => p);`, `const N = [A, B].find((p) => p);`, `const N = [[A], [B]].flat()[1];`, `const N = [A].flatMap((p) => [p, B]);`, `const N = [A, B].reduce((s, p) => p);`, `const N = [A, B].reduce((s, p) => [...s, p], []);`, `const N = [1, 2].reduce((s, p) => s, A);`, `let N = T; [A, B].forEach((p) => { N = p; });`, `let N = T; [T].forEach((p, i, l) => { N = l[0]; });`, `const N = [A, B].map(String);`, `const N = Array.from([A, B]);`, `const N = Array.from([A], (p) => p);`, `const N = Array.of(A, B);`, `const N = [A, B].toSorted ? T : B;`, `const N = [...new Set([A, B])];`, `const N = [...[A, B].entries()][0][1];`, `const N = [...[A].values()];`,
	`const N = Object.values({x: A, y: B});`, `const N = Object.entries({x: A})[0][1];`, `const N = Object.keys({x: A});`, `const oU = {}; Object.assign(oU, {x: A}); const N = oU.x;`, `const N = Object.assign({}, {x: A}, {y: B}).y;`, `const N = Object.fromEntries([["x", A]]).x;`, `const N = Object.freeze({x: A}).x;`, `const N = Object.fromEntries(Object.entries({x: A}).map(([k, v]) => [k, v])).x;`, `const mU = new Map([["x", A]]); const N = mU.get("x");`, `const mU = new Map(); mU.set("x", A).set("y", B); const N = mU.get("y");`, `let N = T; for (const [k, v] of new Map([["x", A]])) N = v;`, `let N = T; new Map([["x", A]]).forEach((v) => { N = v; });`, `const sU = new Set(); sU.add(A); const [N] = sU;`, `const N = structuredClone([A]);`, `const N = JSON.parse(JSON.stringify([A]));`,
	"const N = `${A}`;", "const N = `${T}${B}`;", `const N = "" + A;`, `let N = T; N += B;`, `const N = String(A);`, `const N = T.concat(B);`, `const N = T.replace("a", () => B);`, `const N = (A + "").toUpperCase().toLowerCase();`, `const N = T.trim();`, `const N = T.split("")[0] + "x";`, `const N = T.slice(1);`, `const N = path.join(T, "x");`, `const N = path.join("/", T);`, `const N = path.basename(T + "/" + T);`, `const N = path.resolve(T);`, `const N = path.dirname(T + "/x");`, `const N = path.join("d", "..", T);`, `const N = path.join("d", "/" + T);`, "const N = String.raw`${T}`;",
	`let N = T; try { throw A; } catch (e) { N = e; }`, `let N = T; try { throw {x: A}; } catch ({x}) { N = x; }`, `const oU = {x: T}; try { throw oU; } catch (e) { e.x = A; } const N = oU.x;`, `let N = T; try { N = A; } finally { N = B; }`, `let N = T; switch (1) { case 1: N = A; break; default: N = B; }`, `let N = T; l: for (;;) { N = A; break l; }`, `let N = T; do { N = A; } while (false);`, `let N = T; if (A) N = B; else N = A;`, `let N = T; { let N2U = A; N = N2U; }`, `var N = T; { var N = A; }`, `let N = T; (() => { N = A; })();`,
	`function* gU() { yield A; yield B; } const N = [...gU()];`, `function* gU() { yield* [A, B]; } const [N] = gU();`, `function* gU() { const p = yield A; } let N = T; for (const q of gU()) N = q;`,
	`const N = await A;`, `const N = await Promise.resolve(A);`, `const N = await (async () => B)();`, `const N = await Promise.all([A, B]);`, `const [N] = await Promise.all([A, B]);`, `const N = await Promise.resolve(A).then((p) => p);`, `const N = await new Promise((r) => r(A));`, `const N = await new Promise((r) => setTimeout(r, 0, A));`, `const N = await new Promise((r) => setTimeout(() => r(B), 0));`, `const N = await Promise.race([A]);`, `const N = (await Promise.allSettled([A]))[0].value;`, `let N = T; await Promise.reject(A).catch((e) => { N = e; });`, `let N = T; await Promise.resolve(A).finally(() => { N = B; });`, `const N = await Promise.resolve().then(() => A);`, `let N = T; for await (const q of [A, B]) N = q;`, `const oU = {}; await Promise.resolve(oU).then((o) => { o.x = A; }); const N = oU.x;`, `const oU = {}; const pU = await new Promise((r) => r(oU)); pU.x = A; const N = oU.x;`, `const N = await new Promise((r) => process.nextTick(r, A));`,
}

// runFlows runs programs one after the other in one process. It prints the
// files that each has written: none are, really.
const runFlows = `
const fs = require("fs"), path = require("path");
let written = [];
fs.writeFileSync = (p) => { if (typeof p == "string") written.push(p); };
const lines = fs.readFileSync(0, "utf8").split("\n").filter(Boolean);
const Async = (async () => {}).constructor;
(async () => {
  for (const l of lines) {
    written = [];
    let fault = "";
    try { await new Async("fs", "path", JSON.parse(l))(fs, path); } catch (e) { fault = String(e); }
    console.log(JSON.stringify({ written, fault }));
  }
})();
`

// randomFlow is a program that writes to files whose names went through some of
// the flows.
func randomFlow(r *rand.Rand) string {
	vars := []string{"va", "vb", "vc"}
	var b strings.Builder
	b.WriteString(`const va = "a1", vb = "b2", vc = ["c3", "d4"];` + "\n")
	for n := range 1 + r.IntN(4) {
		flow := flows[r.IntN(len(flows))]
		made := "n" + strconv.Itoa(n)
		pick := func() string { return vars[r.IntN(len(vars))] }
		b.WriteString(replaceNames(flow, map[byte]string{'N': made, 'A': pick(), 'B': pick(), 'C': pick(), 'T': strconv.Quote("t" + strconv.Itoa(n)), 'U': strconv.Itoa(n)}) + "\n")
		vars = append(vars, made)
	}
	last := vars[len(vars)-1]
	ends := []string{`if (typeof N == "string") fs.writeFileSync(N, "x");`, `fs.writeFileSync(N, "x");`, `if (typeof N[0] == "string") fs.writeFileSync(N[0], "x");`, `for (const w of N) fs.writeFileSync(w, "x");`, `if (N.x) fs.writeFileSync(N.x, "x");`}
	b.WriteString(replaceNames(ends[[]int{0, 0, 1, 1, 2, 3, 4}[r.IntN(7)]], map[byte]string{'N': last}))
	return b.String()
}

// replaceNames puts values for the capital letters that stand alone, or behind a
// small letter or C as the number U does.
func replaceNames(flow string, with map[byte]string) string {
	var b strings.Builder
	word := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	for i := range len(flow) {
		c := flow[i]
		alone := (i == 0 || !word(flow[i-1])) && (i+1 == len(flow) || !word(flow[i+1]) || c == 'N' && flow[i+1] == '2')
		if v, ok := with[c]; ok && (alone || c == 'U' && i > 0 && word(flow[i-1]) && (i+1 == len(flow) || !word(flow[i+1]))) && !(c == 'U' && alone && v == "") {
			b.WriteString(v)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// TestFlowsAreFollowed holds that no file is written which the reader says
// nothing of. HOLDGATE_FLOWS is how many programs are tried.
func TestFlowsAreFollowed(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here: what programs write is not compared with what is read in them")
	}
	count, _ := strconv.Atoi(os.Getenv("HOLDGATE_FLOWS"))
	if count == 0 {
		count = 3000
	}
	r := rand.New(rand.NewPCG(1, uint64(count)))
	programs := make([]string, count)
	var in bytes.Buffer
	for i := range programs {
		programs[i] = randomFlow(r)
		line, _ := json.Marshal(programs[i])
		in.Write(append(line, '\n'))
	}
	cmd := exec.Command(node, "-e", runFlows)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	i, seen, ran, failed := 0, 0, 0, 0
	for line := range bytes.Lines(out) {
		var got struct {
			Written []string
			Fault   string
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatal(err)
		}
		program := programs[i]
		i++
		if ran++; got.Fault != "" {
			ran--
		}
		e, err := Read("node", program)
		if err != nil || len(e.Unseen) > 0 {
			continue
		}
		seen++
		for _, w := range got.Written {
			if failed < 15 && !slices.ContainsFunc(e.Writes, func(p outcome.Place) bool { return coveredBy(w, p) }) {
				failed++
				t.Errorf("it writes %q and %s is found in\n%s", w, outcome.Describe(e, nil), program)
			}
		}
	}
	t.Logf("%d programs, %d ran to their end, of %d all was seen", i, ran, seen)
	if ran < count*6/10 || seen < count/5 {
		t.Error("too few of the programs ran, or were seen")
	}
}

func coveredBy(file string, p outcome.Place) bool {
	wd, _ := os.Getwd()
	file = strings.TrimPrefix(path.Clean(file), wd+"/")
	if !p.Below {
		return file == path.Clean(p.Path)
	}
	return p.Path == "." && !path.IsAbs(file) || strings.HasPrefix(file, path.Clean(p.Path)+"/")
}
