package facts

import (
	"context"
	"encoding/json"
	"testing"
)

func TestWhereAShellIsLeft(t *testing.T) {
	for _, tt := range []struct{ tool, command, shell, hangs, leaves string }{
		{"Bash", "rm -rf build", "", "", ""},
		{"Bash", "cd sub && make", "", "", "/w/sub\n/w"}, // cd may fail
		{"Bash", "(cd sub && make)", "", "", ""},
		{"Bash", "cd $X", "", "", "?"},
		{"Bash", "rm -rf build", "/w/sub", "/w/sub", ""},
		{"Bash", "A=1", "/w/sub", "", ""},
		{"Bash", "cd /w && rm -rf build", "/w/sub", "/w/sub", "/w\nfrom /w/sub"},
		{"Bash", "cd /w", "/w/sub", "", "/w"},
		{"Bash", "cd .. && rm -rf build", "/w/sub", "/w/sub", "/\n/w\nfrom /w/sub"},
		{"run_shell_command", "cd sub && make", "", "", ""},
		{"run_shell_command", "make", "/w/sub", "", ""},
	} {
		args, err := json.Marshal(map[string]string{"command": tt.command})
		if err != nil {
			t.Fatal(err)
		}
		f := Extract(context.Background(), toolCall(tt.tool, string(args)), Options{Dir: "/w", Shell: tt.shell})
		if f.Shell != tt.hangs || f.Leaves != tt.leaves {
			t.Errorf("%s %q from %q: hangs on %q, leaves %q; want %q, %q", tt.tool, tt.command, tt.shell, f.Shell, f.Leaves, tt.hangs, tt.leaves)
		}
	}
}
