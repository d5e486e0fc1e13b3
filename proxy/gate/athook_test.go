package gate

import (
	"testing"

	"github.com/holdgate/holdgate"
)

// What Codex's tools are at its hook, where they are called otherwise, is the very call
// that its model asked for: no people are asked about it twice.
func TestWhatACallIsAtAHook(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, arguments, raw string
		name, want           string
	}{
		{"exec_command", `{"cmd":"ls > a","workdir":"/w"}`, "", "Bash", `{"command":"ls > a"}`},
		{"apply_patch", "", "*** Begin Patch\n*** Add File: <a>\n+x\n*** End Patch", "apply_patch", `{"command":"*** Begin Patch\n*** Add File: <a>\n+x\n*** End Patch"}`},
		{"apply_patch", `{"input":"x"}`, "", "apply_patch", `{"input":"x"}`},
		{"other", "", "text", "other", ""},
	} {
		tool := &holdgate.Tool{Name: c.tool, ArgumentsRaw: c.raw}
		if c.arguments != "" {
			tool.Arguments = []byte(c.arguments)
		}
		name, arguments := atHook(tool)
		if name != c.name || canonical(t, arguments) != canonical(t, []byte(c.want)) {
			t.Errorf("%s is %s %s, want %s %s", c.tool, name, arguments, c.name, c.want)
		}
	}
}

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	if len(raw) == 0 {
		return ""
	}
	canon, err := holdgate.Canonical(raw)
	if err != nil {
		t.Fatal(err)
	}
	return string(canon)
}
