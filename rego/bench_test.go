package rego

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	oparego "github.com/open-policy-agent/opa/v1/rego"

	"github.com/holdgate/holdgate"
)

// trivial is the least that can be asked of OPA: one rule over one field.
const trivial = `package holdgate

decision := {"action": "allow"} if input.kind == "tool_call"

decision := {"action": "allow"} if input.kind == "model_request"
`

// BenchmarkEval measures one evaluation with its input, facts apart, by the
// shipped pack and by a trivial rule. The ratio of the two in one run is what
// counts.
func BenchmarkEval(b *testing.B) {
	calls := []struct {
		name string
		call holdgate.Call
	}{
		{"bash 2 KB", bashCall("go test ./... && git status # " + strings.Repeat("x", 2000))},
		{"model request", modelCall()},
	}
	trivialPath := filepath.Join(b.TempDir(), "trivial.rego")
	if err := os.WriteFile(trivialPath, []byte(trivial), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, c := range calls {
		for _, path := range []string{trivialPath, ""} {
			p, err := load(b.Context(), spec{path: path})
			if err != nil {
				b.Fatal(err)
			}
			name := c.name + "/trivial"
			if path == "" {
				name = c.name + "/pack"
			}
			b.Run(name, func(b *testing.B) { benchEval(b, p, Input{Call: c.call}) })
		}
	}
}

// BenchmarkSize measures one evaluation by the shipped pack of calls of very
// different sizes, all of which facts still read. It should cost the same.
func BenchmarkSize(b *testing.B) {
	p, err := load(b.Context(), spec{})
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{2 << 10, 64 << 10, 250 << 10} {
		c := bashCall("")
		arguments, err := json.Marshal(map[string]string{"file_path": "notes.txt", "content": strings.Repeat("x", size)})
		if err != nil {
			b.Fatal(err)
		}
		c.Tool = &holdgate.Tool{Name: "Write", Arguments: arguments}
		b.Run(fmt.Sprintf("%d KB", size>>10), func(b *testing.B) { benchEval(b, p, Input{Call: c}) })
	}
}

// BenchmarkToolRules measures one evaluation beside few and many settings of
// tools. Their number should cost nothing.
func BenchmarkToolRules(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		settings := strings.Builder{}
		settings.WriteString("settings:\n  tools:\n")
		for i := range n {
			fmt.Fprintf(&settings, "    server%d/tool%d: auto\n", i%100, i)
		}
		dir := b.TempDir()
		for name, body := range map[string]string{"settings.yaml": settings.String(), "a.rego": custom} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		p, err := load(b.Context(), spec{path: dir})
		if err != nil {
			b.Fatal(err)
		}
		c := bashCall("")
		c.Tool.Server, c.Tool.Name = "server7", "tool7"
		b.Run(fmt.Sprintf("%d rules", n), func(b *testing.B) { benchEval(b, p, Input{Call: c}) })
	}
}

func benchEval(b *testing.B, p *policy, in Input) {
	ctx := context.Background()
	f := (&policy{}).extract(ctx, in)
	b.ReportAllocs()
	for b.Loop() {
		_, _, err := p.decide(ctx, DefaultTimeout, &p.query, func() (ast.Value, time.Time, error) {
			v, at, err := p.input(in, f)
			return v, at.now, err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFloor is a trivial rule through OPA's own API, without a deadline,
// an input of its own, or a decision to read.
func BenchmarkFloor(b *testing.B) {
	query, err := oparego.New(oparego.Query("data.floor.allow"), oparego.Module("floor.rego",
		"package floor\nallow if input.kind == \"tool_call\"")).PrepareForEval(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	in := Input{Call: bashCall("ls")}
	value, _, err := (&policy{}).input(in, (&policy{}).extract(b.Context(), in))
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := query.Eval(ctx, oparego.EvalParsedInput(value)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecide measures the whole of Decide, facts and all, where each call
// is another one.
func BenchmarkDecide(b *testing.B) {
	e, err := Open(b.Context(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		in := Input{Call: bashCall(fmt.Sprintf("go test ./part%d/... && git status", n))}
		if d := e.Decide(b.Context(), in); d.Action != holdgate.Allow {
			b.Fatalf("got %v: %s", d.Action, d.Reason)
		}
	}
}

func bashCall(command string) holdgate.Call {
	arguments, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return holdgate.Call{
		Kind:    holdgate.KindToolCall,
		Door:    "anthropic",
		Agent:   holdgate.Agent{ID: holdgate.AgentDefault},
		Session: holdgate.Session{ID: holdgate.SessionDefault},
		Tool:    &holdgate.Tool{Name: "Bash", Arguments: arguments},
	}
}

func modelCall() holdgate.Call {
	return holdgate.Call{
		Kind:    holdgate.KindModelRequest,
		Door:    "anthropic",
		Agent:   holdgate.Agent{ID: holdgate.AgentDefault},
		Session: holdgate.Session{ID: holdgate.SessionDefault},
		Model:   &holdgate.Model{Provider: "anthropic", Name: "claude", Stream: true, Tools: []string{"Bash", "Read", "Edit", "Write", "Grep"}},
	}
}
