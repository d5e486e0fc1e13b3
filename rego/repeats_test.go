package rego

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
)

// isRemembered reports whether the decision on a call is there to be repeated.
func isRemembered(e *Engine, in Input) bool {
	_, ok := e.current.Load().repeats.find(in)
	return ok
}

func TestShippedPackRemembersModelRequests(t *testing.T) {
	e := open(t, Options{})
	in := Input{Call: modelCall()}
	if isRemembered(e, in) {
		t.Fatal("a request is remembered that never was")
	}
	first := e.Decide(t.Context(), in)
	if first.Action != holdgate.Allow || !isRemembered(e, in) {
		t.Fatalf("got %+v, want it allowed and remembered", first)
	}
	in.Call.Time = time.Now()
	if again := e.Decide(t.Context(), in); again.Action != first.Action || again.Rule != first.Rule || again.Revision != first.Revision {
		t.Errorf("got %+v the second time, want %+v", again, first)
	}
}

func TestOnlyTheSameRequestIsRepeated(t *testing.T) {
	e := open(t, Options{})
	e.Decide(t.Context(), Input{Call: modelCall()})
	changes := map[string]func(*Input){
		"agent":        func(in *Input) { in.Call.Agent.ID = "other" },
		"proof":        func(in *Input) { in.Call.Agent.Proven = true },
		"labels":       func(in *Input) { in.Call.Agent.Labels = map[string]string{"a": "b"} },
		"confinement":  func(in *Input) { in.Call.Agent.Confinement = "weak" },
		"session":      func(in *Input) { in.Call.Session.ID = "other" },
		"door":         func(in *Input) { in.Call.Door = "forward" },
		"provider":     func(in *Input) { in.Call.Model.Provider = "openai" },
		"model":        func(in *Input) { in.Call.Model.Name = "other" },
		"stream":       func(in *Input) { in.Call.Model.Stream = false },
		"tools":        func(in *Input) { in.Call.Model.Tools = []string{"Bash"} },
		"server tools": func(in *Input) { in.Call.Model.ServerTools = []holdgate.ServerTool{{Type: "web_search"}} },
		"kind":         func(in *Input) { in.Call.Kind = holdgate.KindHTTPRequest },
		"mode":         func(in *Input) { in.Mode = "manual" },
		"threshold":    func(in *Input) { in.Threshold = 0.5 },
		"confidence":   func(in *Input) { in.Confidence = &Confidence{Score: 0.1} },
		"usage":        func(in *Input) { in.Usage = &Usage{Usage: holdgate.Usage{Answers: 1}} },
		"folder":       func(in *Input) { in.Dir = "/x" },
		"answers":      func(in *Input) { in.Answers = []Answer{{Gate: "g"}} },
		"edit":         func(in *Input) { in.Edited = true },
	}
	for name, change := range changes {
		in := Input{Call: modelCall()}
		change(&in)
		if isRemembered(e, in) {
			t.Errorf("another %s is taken for the same request", name)
		}
	}
	if !isRemembered(e, Input{Call: modelCall()}) {
		t.Error("the request itself is not remembered")
	}
}

func TestPolicyThatLooksAtTheClockIsAskedAgain(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, rules := range map[string]string{
		"it reads the time":      `decision := {"action": "allow"} if startswith(input.time, "2026-01-01T12:")`,
		"by a name of its own":   "decision := {\"action\": \"allow\"} if {\n\tsome name in [\"time\"]\n\tstartswith(input[name], \"2026-01-01T12:\")\n}",
		"it walks all input":     "decision := {\"action\": \"allow\"} if {\n\twalk(input, [_, v])\n\tis_string(v)\n\tstartswith(v, \"2026-01-01T12:\")\n}",
		"it writes input out":    `decision := {"action": "allow"} if contains(json.marshal(input), "2026-01-01T12:")`,
		"it takes input whole":   "decision := {\"action\": \"allow\"} if early(input)\n\nearly(x) if startswith(x.time, \"2026-01-01T12:\")",
		"it filters input":       `decision := {"action": "allow"} if contains(json.filter(input, ["time"]).time, "T12:")`,
		"it looks into an union": `decision := {"action": "allow"} if contains(object.union(input, {"a": 1}).time, "T12:")`,
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, Options{Path: write(t, map[string]string{"p.rego": whole("default decision := {\"action\": \"deny\"}\n\n" + rules)})})
			in := Input{Call: modelCall()}
			in.Call.Time = noon
			if d := e.Decide(t.Context(), in); d.Action != holdgate.Allow {
				t.Fatalf("at noon: %+v, want it allowed", d)
			}
			in.Call.Time = noon.Add(time.Hour)
			if d := e.Decide(t.Context(), in); d.Action != holdgate.Deny {
				t.Errorf("an hour later: %+v, want it denied", d)
			}
		})
	}
}

func TestOnlyPlainAllowsAreRemembered(t *testing.T) {
	for name, c := range map[string]struct {
		rules   string
		observe bool
	}{
		"a denial":              {`decision := {"action": "deny", "rule": "r", "reason": "no"}`, false},
		"a hold":                {`decision := {"action": "hold", "rule": "r", "reason": "ask"}`, false},
		"what would be denied":  {`decision := {"action": "deny", "rule": "r", "reason": "no"}`, true},
		"a policy without word": {`decision := {"action": "allow"} if input.kind == "nothing"`, false},
	} {
		e := open(t, Options{Path: write(t, map[string]string{"p.rego": whole(c.rules)}), Observe: c.observe})
		in := Input{Call: modelCall()}
		e.Decide(t.Context(), in)
		if isRemembered(e, in) {
			t.Errorf("%s is remembered", name)
		}
	}
}

func TestAnotherPolicyRemembersNothing(t *testing.T) {
	dir := write(t, map[string]string{"p.rego": whole(`decision := {"action": "allow"}`)})
	e := open(t, Options{Path: dir})
	in := Input{Call: modelCall()}
	if d := e.Decide(t.Context(), in); d.Action != holdgate.Allow {
		t.Fatalf("got %+v", d)
	}
	put(t, dir+"/p.rego", whole(`decision := {"action": "deny", "rule": "r", "reason": "no"}`))
	p, err := load(t.Context(), e.spec)
	if err != nil {
		t.Fatal(err)
	}
	e.current.Store(p)
	if d := e.Decide(t.Context(), in); d.Action != holdgate.Deny {
		t.Errorf("under another policy: %+v, want it denied", d)
	}
}

func TestRepeatsAreBounded(t *testing.T) {
	e := open(t, Options{Path: write(t, map[string]string{"p.rego": whole(`decision := {"action": "allow"}`)})})
	for i := range 3 * maxRepeats {
		in := Input{Call: modelCall()}
		in.Call.Session.ID = string(rune('a' + i))
		e.Decide(t.Context(), in)
	}
	if n := len(e.current.Load().repeats.allowed); n > maxRepeats {
		t.Errorf("%d are remembered, want at most %d", n, maxRepeats)
	}
}

func TestClockIsWrittenAsOthersWriteIt(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 8900, time.FixedZone("x", 3600))
	b, err := json.Marshal(clock{now: now, read: new(bool)})
	want, _ := json.Marshal(now.UTC())
	if err != nil || string(b) != string(want) {
		t.Errorf("got %s (%v), want %s", b, err, want)
	}
}

func TestWhatNoRuleReadsMakesNoOtherRequest(t *testing.T) {
	counted := func(calls int) Input {
		return Input{Call: modelCall(), Usage: &Usage{CallsPerMinute: calls}, History: &History{Allowed: calls}}
	}
	e := open(t, Options{})
	e.Decide(t.Context(), counted(1))
	if !isRemembered(e, e.current.Load().relevant(counted(2))) {
		t.Error("the shipped pack has no budget, and yet a request is another for how many there were")
	}
	budget := write(t, map[string]string{"data.json": `{"settings": {"model": {"budget": {"calls_per_minute": 2}}}}`})
	e = open(t, Options{Path: budget})
	e.Decide(t.Context(), counted(1))
	if d := e.Decide(t.Context(), counted(2)); d.Rule != "model.budget" {
		t.Errorf("over the budget it is %s by %s", d.Action, d.Rule)
	}
	reader := write(t, map[string]string{"p.rego": "package holdgate.custom.p\n\ndecision := {\"action\": \"deny\", \"rule\": \"p.many\"} if input.history.allowed > 1\n"})
	e = open(t, Options{Path: reader})
	e.Decide(t.Context(), counted(1))
	if d := e.Decide(t.Context(), counted(2)); d.Rule != "p.many" {
		t.Errorf("a rule that reads history says %s by %s", d.Action, d.Rule)
	}
}
