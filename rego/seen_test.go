package rego

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
)

// The pack passes most commands without a closer look. That look must say the
// same: without the fact `seen` there is no other way.
func TestTheCloserLookAgrees(t *testing.T) {
	p, err := load(t.Context(), spec{})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range slices.Concat(
		[]string{
			"ls -la", "sudo ls", "go test ./...", "go test -exec=./x ./...", "go test -exec ./x", "go build -toolexec=x", "git status",
			"git log --output=x", "git -C sub status", "npm test && rm x", "find . -name x", "find 0 -delete", "git stash list",
			"LD_PRELOAD=./x.so git status", "BASH_ENV=./x ls", "PATH=./bin:$PATH go test ./...", "PAGER='rm x' git log", "MAKEFLAGS=-fx make", "python3 -m pytest", "make -f x", "$X", "git $X", "go",
		},
		lines(t, "lines.txt"), lines(t, "evasions.txt"), lines(t, "constructs.txt"), lines(t, "escapes.txt"),
	) {
		in := Input{Call: bashCall(command), Dir: "/src/app", Home: "/home/u"}
		f := patientFacts(t, in)
		v, c, err := p.input(in, f)
		if err != nil {
			t.Fatal(err)
		}
		fast, slow := evaluated(t, p, v, c.now), evaluated(t, p, unseen(t, v, f), c.now)
		if diff := cmp.Diff(slow, fast); diff != "" {
			t.Errorf("%s (-closer look +seen):\n%s", command, diff)
		}
	}
}

func evaluated(t *testing.T, p *policy, v ast.Value, now time.Time) holdgate.Decision {
	t.Helper()
	d, _, err := p.decide(t.Context(), time.Minute, &p.query, func() (ast.Value, time.Time, error) { return v, now, nil })
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// unseen is input with the facts as they are found, without what it adds.
func unseen(t *testing.T, v ast.Value, f facts.Facts) ast.Value {
	t.Helper()
	raw, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		t.Fatal(err)
	}
	found, err := ast.InterfaceToValue(lowered(plain))
	if err != nil {
		t.Fatal(err)
	}
	o := object{"facts": found}
	for _, name := range []string{"kind", "agent", "session", "door", "time", "tool"} {
		o[name] = v.(ast.Object).Get(ast.StringTerm(name)).Value
	}
	tool, err := ast.JSON(o["tool"].(ast.Value))
	if err != nil {
		t.Fatal(err)
	}
	delete(tool.(map[string]any), "setting")
	o["tool"] = tool
	return ast.LazyObject(o)
}

// Settings of tools are looked up in Go, and in Rego for inputs that come
// without a setting. Both must find the same.
func TestSettingsOfToolsAgreeInGoAndRego(t *testing.T) {
	p, err := load(t.Context(), spec{path: write(t, map[string]string{"settings.yaml": `
settings:
  tools: {plain: ask, "s/t": deny, "s/*": ask, "*/u": auto, "x__y": deny, "one/*": deny}
  categories: {message: ask, unknown: deny}
  agents: {ci: {tools: {plain: deny, "s/t": auto, quiet: auto}}, all: {tools: {"*": auto}}}
`, "a.rego": custom})})
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range []string{"default", "ci", "all"} {
		for _, proven := range []bool{false, true} {
			for _, name := range []string{"plain", "t", "u", "v", "quiet", "x__y", "mcp__s__t", "mcp__s__v", "mcp__one", "mcp__", "mcp", "mcp__s__t__u", "*"} {
				for _, server := range []string{"", "s", "r", "one"} {
					in := Input{Call: bashCall("")}
					in.Call.Agent = holdgate.Agent{ID: agent, Proven: proven}
					in.Call.Tool = &holdgate.Tool{Name: name, Server: server, Arguments: json.RawMessage("{}")}
					f := (&policy{}).extract(t.Context(), in)
					v, c, err := p.input(in, f)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(evaluated(t, p, unseen(t, v, f), c.now), evaluated(t, p, v, c.now)); diff != "" {
						t.Errorf("%s, proven %v, %q of %q (-rego +go):\n%s", agent, proven, name, server, diff)
					}
				}
			}
		}
	}
}
