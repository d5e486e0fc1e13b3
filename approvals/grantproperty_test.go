package approvals_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/record"
)

// anyCall draws a call from few words, so that calls often agree in parts.
func anyCall(t *rapid.T, label string) holdgate.Call {
	text := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	a := args{}
	name := text("Bash", "write_file", "query", "create_issue")
	switch name {
	case "Bash":
		a["command"] = text("git commit -m x", "git commit -m 'x'", "git push", "FOO=1 git commit -m x", "sudo git commit -m x", "cd /etc && git commit -m x", "rm build/a", "rm build/b", "rm $X", "git сommit -m x")
		a["description"] = text("Commit", "Save")
	case "write_file":
		a["path"] = text("src/a.go", "src/b.go", "docs/a.md", "/etc/passwd", "../a", ".git/hooks/pre-commit", "src/a\u200b.go")
		a["content"] = text("one", "two")
	case "query":
		a["sql"] = text("select * from a", "select * from b", "drop table a", "delete from a", "delete from a where id = 1")
	default:
		a["title"], a["url"] = text("one", "two"), text("https://a.example/x", "https://a.example/y", "https://b.example/x", "https://a.example:7301/x")
	}
	if rapid.Bool().Draw(t, label+" more") {
		a["force"] = rapid.Bool().Draw(t, label+" force")
	}
	return call(name, a)
}

// arguments are a call's, read anew.
func arguments(c holdgate.Call) args {
	dec := json.NewDecoder(bytes.NewReader(c.Tool.Arguments))
	dec.UseNumber()
	var a args
	if err := dec.Decode(&a); err != nil {
		panic(err)
	}
	return a
}

// Whatever was granted, and whatever comes: what a grant releases has the shape
// and the fixed arguments of what was approved, or reaches no further than it
// where the grant is for the tool.
func TestAGrantReleasesNothingElse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n, released, granted := 0, 0, 0 // n keeps the agents of all rounds apart
	rapid.Check(t, func(rt *rapid.T) {
		n++
		who := caller
		who.Agent.ID = fmt.Sprintf("agent-%d", n)
		made, later := from(who, anyCall(rt, "made")), from(who, anyCall(rt, "later"))
		if rapid.Bool().Draw(rt, "alike") {
			mixed, other := arguments(made), arguments(later)
			for _, k := range slices.Sorted(maps.Keys(mixed)) {
				if v, ok := other[k]; ok && rapid.Bool().Draw(rt, "change "+k) {
					mixed[k] = v
				}
			}
			later = from(who, call(made.Tool.Name, mixed))
		}
		m := exactly()
		var fixed []string
		switch rapid.IntRange(0, 2).Draw(rt, "match") {
		case 1:
			m = ofTool()
		case 2:
			for _, k := range slices.Sorted(maps.Keys(arguments(made))) {
				if rapid.Bool().Draw(rt, "fix "+k) {
					fixed = append(fixed, k)
				}
			}
			m = fixing()
			for _, k := range fixed {
				v, _ := grants.Argument(made.Tool.Arguments, "/"+k)
				m.Match.Arguments["/"+k] = json.RawMessage(v)
			}
		}
		d := seen(made, dir)
		r := b.asks(made, d)
		if _, err := b.queue.Decide(t.Context(), r.ID, remembered(r, "ana", m)); err != nil {
			return // it cannot be remembered
		}
		granted++
		now := seen(later, dir)
		if !b.released(later, now) {
			return
		}
		released++
		before, after := holdgate.ShapeOf(made, *d.Facts), holdgate.ShapeOf(later, *now.Facts)
		if !before.Exact() || !after.Exact() {
			rt.Fatalf("released though it is not exact: %s after %s", after, before)
		}
		if m.Match.Kind == record.MatchTool {
			if !after.Within(before) {
				rt.Fatalf("%s reaches further than %s", after, before)
			}
			return
		}
		if before.Key() != after.Key() {
			rt.Fatalf("%s was released by a grant for %s", after, before)
		}
		x, y := arguments(made), arguments(later)
		if m.Match.Kind != record.MatchPattern {
			delete(x, "description")
			delete(y, "description")
			fixed = slices.Collect(maps.Keys(x))
			if len(x) != len(y) {
				rt.Fatalf("%v was released by a grant for exactly %v", y, x)
			}
		}
		for _, k := range fixed {
			if !reflect.DeepEqual(x[k], y[k]) {
				rt.Fatalf("%s is %v, and was granted as %v", k, y[k], x[k])
			}
		}
	})
	if n >= 100 && (released == 0 || released == granted) {
		t.Errorf("%d of %d grants released a call: that proves nothing", released, granted)
	}
}
