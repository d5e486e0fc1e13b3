package rego

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
)

// remoteCall is a call of an MCP server's tool, which the pack allows.
func remoteCall(arguments string) Input {
	c := bashCall("")
	c.ID, c.Door, c.Time = "1", "mcp", time.Now()
	c.Tool = &holdgate.Tool{Name: "read_file", Server: "files", Arguments: json.RawMessage(arguments),
		Learned: &holdgate.Learned{Server: "files", Tool: "read_file", Hints: map[string]bool{"readOnlyHint": true}}}
	return Input{Call: c, Mode: "auto", Dir: "/src/app", Home: "/home/u", Repeats: 1}
}

// isLike reports whether the decision on a call is there to be repeated for
// what its facts say.
func isLike(t *testing.T, e *Engine, in Input) bool {
	t.Helper()
	p := e.current.Load()
	in = p.relevant(in)
	f, err := p.facts(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	_, ok := p.repeats.findLike(in, &f)
	return ok && !p.readsArguments
}

func TestSameToolCallIsDecidedOnce(t *testing.T) {
	e := open(t, Options{})
	in := remoteCall(`{"path":"a.go","n":1}`)
	first := e.Decide(t.Context(), in)
	if first.Action != holdgate.Allow {
		t.Fatalf("got %+v, want it allowed", first)
	}
	in.Call.ID, in.Call.Time, in.Call.Position, in.Repeats = "2", time.Now(), 3, 2
	if !isRemembered(e, e.current.Load().relevant(in)) {
		t.Error("the same call under another id is not remembered")
	}
	if other := remoteCall(`{"path":"a.go","n":2}`); isRemembered(e, e.current.Load().relevant(other)) || !isLike(t, e, other) {
		t.Error("a call with other arguments and the same facts must be found by its facts, and only by them")
	}
	if isLike(t, e, remoteCall(`{"path":"b.go","n":1}`)) {
		t.Error("a call with other facts is taken for the same")
	}
}

func TestOnlyTheSameToolCallIsRepeated(t *testing.T) {
	e := open(t, Options{})
	e.Decide(t.Context(), remoteCall(`{"path":"a.go"}`))
	changes := map[string]func(*Input){
		"agent":       func(in *Input) { in.Call.Agent.ID = "other" },
		"proof":       func(in *Input) { in.Call.Agent.Proven = true },
		"labels":      func(in *Input) { in.Call.Agent.Labels = map[string]string{"a": "b"} },
		"confinement": func(in *Input) { in.Call.Agent.Confinement = "weak" },
		"session":     func(in *Input) { in.Call.Session.ID = "other" },
		"door":        func(in *Input) { in.Call.Door = "forward" },
		"server":      func(in *Input) { in.Call.Tool.Server = "other" },
		"tool":        func(in *Input) { in.Call.Tool.Name = "list_files" },
		"definition":  func(in *Input) { in.Call.Tool.Learned.Changed = true },
		"hints":       func(in *Input) { in.Call.Tool.Learned.Hints = map[string]bool{"destructiveHint": true} },
		"misfits":     func(in *Input) { in.Call.Tool.Learned.Misfits = []string{"path"} },
		"unlearned":   func(in *Input) { in.Call.Tool.Learned = nil },
		"path":        func(in *Input) { in.Call.Tool.Arguments = json.RawMessage(`{"path":"/etc/shadow"}`) },
		"secret": func(in *Input) {
			in.Call.Tool.Arguments = json.RawMessage(`{"path":"a.go","x":"ghp_` + strings.Repeat("a1B2", 9) + `"}`)
		},
		"no object":  func(in *Input) { in.Call.Tool.Arguments, in.Call.Tool.ArgumentsRaw = nil, "[]" },
		"kind":       func(in *Input) { in.Call.Kind = holdgate.KindMCPRequest },
		"mode":       func(in *Input) { in.Mode = "manual" },
		"taint":      func(in *Input) { in.Taint = []string{"untrusted"} },
		"gates":      func(in *Input) { in.Gates.Needed = []string{"before_commit"} },
		"threshold":  func(in *Input) { in.Threshold = 0.5 },
		"confidence": func(in *Input) { in.Confidence = &Confidence{Score: 0.1} },
		"folder":     func(in *Input) { in.Dir = "/x" },
		"home":       func(in *Input) { in.Home = "/x" },
		"own":        func(in *Input) { in.Own.Folders = []string{"/x"} },
		"answers":    func(in *Input) { in.Answers = []Answer{{Gate: "g"}} },
		"edit":       func(in *Input) { in.Edited = true },
		"result":     func(in *Input) { in.Call.Result = &holdgate.Result{} },
	}
	for name, change := range changes {
		in := remoteCall(`{"path":"a.go"}`)
		change(&in)
		if in = e.current.Load().relevant(in); isRemembered(e, in) || isLike(t, e, in) {
			t.Errorf("another %s is taken for the same call", name)
		}
	}
	if in := e.current.Load().relevant(remoteCall(`{"path":"a.go"}`)); !isRemembered(e, in) {
		t.Error("the call itself is not remembered")
	}
}

// Whatever was decided before, a call gets the decision that policy gives it
// alone.
func TestWhatIsRememberedIsWhatPolicySays(t *testing.T) {
	e := open(t, Options{})
	p := e.current.Load()
	for round := range 2 {
		for _, command := range slices.Concat(lines(t, "lines.txt"), lines(t, "evasions.txt"), lines(t, "constructs.txt")) {
			in := p.relevant(Input{Call: bashCall(command), Dir: "/src/app", Home: "/home/u"})
			f := patientFacts(t, in)
			if len(f.ParseErrors) > 0 {
				continue // by the clock, perhaps
			}
			v, c, err := p.input(in, f)
			if err != nil {
				t.Fatal(err)
			}
			want, got := evaluated(t, p, v, c.now), e.Decide(t.Context(), in)
			p.hide(t.Context(), in, f, nil, &want)
			got.Revision, got.Facts, want.Leaves = "", nil, f.Leaves
			if diff := cmp.Diff(want, got); diff != "" && got.Rule != holdgate.RulePolicyError {
				t.Errorf("round %d, %s (-alone +remembered):\n%s", round, command, diff)
			}
		}
	}
}

func TestPolicyThatReadsArgumentsIsAskedAgain(t *testing.T) {
	for name, rule := range map[string]string{
		"by name":    `input.tool.arguments.n == 1`,
		"whole tool": "tool := input.tool\n\ttool.arguments.n == 1",
		"by walking": "walk(input, [path, 1])\n\tpath[count(path) - 1] == \"n\"",
	} {
		e := open(t, Options{Path: write(t, map[string]string{"p.rego": whole("default decision := {\"action\": \"deny\"}\n\ndecision := {\"action\": \"allow\"} if {\n\t" + rule + "\n}")})})
		for n := 1; n <= 2; n++ {
			if d := e.Decide(t.Context(), remoteCall(fmt.Sprintf(`{"path":"a.go","n":%d}`, n))); (d.Action == holdgate.Allow) != (n == 1) {
				t.Errorf("%s: n = %d is %+v", name, n, d)
			}
		}
	}
}

func TestPolicyThatCountsRepeatsIsAskedAgain(t *testing.T) {
	dirs := map[string]string{
		"the pack's bound":  write(t, map[string]string{"data.json": `{"settings": {"repeats": 2}}`}),
		"a rule of its own": write(t, map[string]string{"p.rego": "package holdgate.custom.p\n\ndecision := {\"action\": \"deny\", \"rule\": \"p.many\"} if input.session.repeats > 2\n"}),
	}
	for name, dir := range dirs {
		e := open(t, Options{Path: dir})
		for n := 1; n <= 3; n++ {
			in := remoteCall(`{"path":"a.go"}`)
			in.Repeats = n
			if d := e.Decide(t.Context(), in); (d.Action == holdgate.Allow) != (n < 3) {
				t.Errorf("%s: time %d is %s by %s", name, n, d.Action, d.Rule)
			}
		}
	}
}

func TestPolicyThatAsksForNowIsAskedAgain(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	e := open(t, Options{Path: write(t, map[string]string{"p.rego": whole("default decision := {\"action\": \"deny\"}\n\ndecision := {\"action\": \"allow\"} if time.clock(time.now_ns())[0] == 12")})})
	for _, in := range []Input{{Call: modelCall()}, remoteCall(`{"path":"a.go"}`)} {
		in.Call.Time = noon
		if d := e.Decide(t.Context(), in); d.Action != holdgate.Allow {
			t.Fatalf("at noon: %+v, want it allowed", d)
		}
		in.Call.Time = noon.Add(time.Hour)
		if d := e.Decide(t.Context(), in); d.Action != holdgate.Deny {
			t.Errorf("an hour later: %+v, want it denied", d)
		}
	}
}

func TestWhatIsRememberedIsACopy(t *testing.T) {
	e := open(t, Options{})
	in := remoteCall(`{"path":"a.go"}`)
	e.Decide(t.Context(), in)
	copy(in.Call.Tool.Arguments, `{"path":"b.go"}`)
	if in = e.current.Load().relevant(in); isRemembered(e, in) {
		t.Error("what is compared with has changed with the caller's bytes")
	}
}

func TestLargeToolCallsAreNotRemembered(t *testing.T) {
	e := open(t, Options{})
	in := remoteCall(`{"path":"a.go","x":"` + strings.Repeat("x", maxRepeatArguments) + `"}`)
	e.Decide(t.Context(), in)
	if n := len(e.current.Load().repeats.allowed); n > 0 {
		t.Errorf("%d are remembered", n)
	}
}
