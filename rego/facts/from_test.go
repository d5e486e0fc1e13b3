package facts

import (
	"context"
	"testing"
)

// The folder that an agent says it starts in makes nothing lie inside, and names what is
// relative.
func TestAFolderThatIsTheAgentsWordMakesNothingInside(t *testing.T) {
	for _, tt := range []struct{ dir, from, command, clean string }{
		{"/w", "/etc", "rm passwd", "/etc/passwd"},
		{"", "/etc", "rm passwd", "/etc/passwd"},
		{"/w", "/v", "rm /w/a", "/w/a"},
		{"/w", "/v", "rm ../w/a", "/w/a"},
		{"/w", "/v", "rm /v/a", "/v/a"},
	} {
		f := Extract(context.Background(), toolCall("Bash", `{"command":"`+tt.command+`"}`), Options{Dir: tt.dir, From: tt.from})
		if len(f.Paths) == 0 {
			t.Errorf("%s: nothing is touched", tt.command)
		}
		for _, p := range f.Paths {
			if p.Inside || p.Clean != tt.clean {
				t.Errorf("%q in %q, said to start in %q, touches %+v; want %s outside", tt.command, tt.dir, tt.from, p, tt.clean)
			}
		}
	}
}
