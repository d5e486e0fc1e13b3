package facts

import (
	"context"
	"encoding/json"
	"flag"
	"runtime"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/budget"
	"github.com/holdgate/holdgate/rego/facts/collect"
)

// hang is when a test gives up on a call: no budget depends on it.
const hang = 5 * time.Minute

// maxMadeMiB is how much memory one call may take, all told. Parsers and
// libraries count no steps, but what they do allocates.
const maxMadeMiB = 128

// bounded extracts the facts of a call, and holds that the work on it was
// within the budget, whatever time it took.
func bounded(t *testing.T, c holdgate.Call) Facts {
	t.Helper()
	x := collect.New(context.Background(), Options{Dir: "/w", Home: "/home/u", Deadline: hang})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call(x, c)
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > maxMadeMiB {
		t.Errorf("%d MiB were allocated, want at most %d", made, maxMadeMiB)
	}
	// The last step may count the words of one command at once.
	if limit := budget.MaxSteps + budget.MaxText; x.Steps() > limit {
		t.Errorf("%d steps, want at most %d", x.Steps(), limit)
	}
	if x.Late() {
		t.Errorf("the call took longer than %v", hang)
	}
	return x.Finish()
}

// FuzzShell holds that no shell text panics, hides its failure, or takes
// more work than its budget. Every test tries all cases. Where others are made of
// them a part is enough: a fuzzer tries each that it is given before any of its own.
func FuzzShell(f *testing.F) {
	each := 1
	if flag.Lookup("test.fuzz").Value.String() != "" {
		each = 16
	}
	n := 0
	for _, cases := range shellCases(f) {
		for _, tt := range cases {
			if n++; n%each == 0 {
				f.Add(tt.line)
			}
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		args, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Skip()
		}
		check(t, toolCall("Bash", string(args)))
	})
}

// FuzzArguments holds the same for arguments of any shape.
func FuzzArguments(f *testing.F) {
	for _, tt := range toolTests {
		f.Add(tt.tool, tt.arguments)
	}
	f.Add("x", `{"a":[[[{"command":["a",1,null]}]]]}`)
	f.Add("x", `{"a":1,"a":2}`)
	f.Fuzz(func(t *testing.T, name, arguments string) { check(t, toolCall(name, arguments)) })
}

func check(t *testing.T, c holdgate.Call) {
	t.Helper()
	f := bounded(t, c)
	for _, e := range f.ParseErrors {
		if len(e) >= len(collect.InternalError) && e[:len(collect.InternalError)] == collect.InternalError {
			t.Errorf("%s", e)
		}
	}
	for _, cmd := range f.Commands {
		if cmd.Program == "" && len(cmd.Unresolved) == 0 && cmd.Argv != nil && cmd.Argv[0] != "" {
			t.Errorf("command %q has neither a program nor a reason", cmd.Argv)
		}
	}
}
