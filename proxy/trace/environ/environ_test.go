package environ_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/trace/environ"
)

func TestOnlyATraceIsTold(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range []struct{ name, parent, state, want string }{
		{"none", "", "a=1", ""},
		{"one", parent, "", "Traceparent: " + parent + "\n"},
		{"with its state", parent, "a=1,b=2", "Traceparent: " + parent + "\nTracestate: a=1,b=2\n"},
		{"a header behind it", parent + "\r\nX: y", "", ""},
		{"a header behind its state", parent, "a=1\r\nX: y", "Traceparent: " + parent + "\n"},
		{"a state that is too long", parent, strings.Repeat("a", 513), "Traceparent: " + parent + "\n"},
		{"capitals", strings.ToUpper(parent), "", ""},
		{"a field too many", parent + "-00", "", ""},
		{"too short", parent[:len(parent)-1], "", ""},
		{"another version", "ff" + parent[2:], "", ""},
	} {
		var told strings.Builder
		env := map[string]string{"TRACEPARENT": c.parent, "TRACESTATE": c.state}
		environ.Tell(func(name string) string { return env[name] }, func(name, value string) { told.WriteString(name + ": " + value + "\n") })
		if told.String() != c.want {
			t.Errorf("%s: told %q, want %q", c.name, told.String(), c.want)
		}
	}
}
