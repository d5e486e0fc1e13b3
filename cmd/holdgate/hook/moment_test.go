package hook

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	agents "github.com/holdgate/holdgate/proxy/hook"
)

// A hook that fails stops the agent before a tool call, and nowhere else: what a hook does not
// know is a tool call to it.
func TestOnlyACallIsStopped(t *testing.T) {
	t.Parallel()
	for _, a := range agents.Agents() {
		if most, is := shorter[a.Name]; is != (a.Wait < 10*time.Minute) || is && most != a.Wait {
			t.Errorf("a hook of %s waits for %s, and %s is what it may", a.Name, most, a.Wait)
		}
		if o, err := parse([]string{a.Name, "--wait", "10m"}, func(string) string { return "" }); err != nil || o.Wait != a.Wait {
			t.Errorf("a hook of %s that was told 10m waits for %s (%v)", a.Name, o.Wait, err)
		}
		for _, name := range []string{a.Permission, a.After, a.Failed, a.Prompt} {
			if a.Name != "cline" && name != "" && !slices.Contains(asks, name) && !slices.Contains(tells, name) {
				t.Errorf("%s would be stopped at %s", a.Name, name)
			}
		}
	}
	for told, want := range map[string]int{
		`{"hook_event_name":"PreToolUse"}`: 2, `{"hook_event_name":"Another"}`: 2, `{}`: 2, ``: 2, `{"hook_event_name":`: 2,
		`{"hook_event_name":"PermissionRequest"}`: 0, `{"hook_event_name":"PostToolUse","x":1}`: 0, `{"hook_event_name":"UserPromptSubmit"}`: 0,
	} {
		for _, args := range [][]string{{"claude", "--agents", "127.0.0.1:1", "--fail", "open", "--key", "/nowhere/hook.key"}, {"claude", "--nonsense"}} {
			var out, errs strings.Builder
			code := Run(args, strings.NewReader(told), &out, &errs, func(string) string { return "" })
			if code != want || out.String() != "" || errs.Len() == 0 {
				t.Errorf("%s: it ends with %d, and says %q %q", told, code, &out, &errs)
			}
		}
	}
	var out strings.Builder
	if code := Run([]string{"cline", "--agents", "127.0.0.1:1"}, strings.NewReader(`{"hookName":"tool_result"}`), &out, io.Discard, func(string) string { return "" }); code != 0 || out.String() != `{"cancel":false}` {
		t.Errorf("cline is told %q, %d", &out, code)
	}
}
