package patch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFiles(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []File
		ok         bool
	}{
		{"nothing names nothing", " \n", nil, true},
		{"prose names nothing, and is no patch", "please change a.go", nil, false},
		{"each kind of line", "*** Begin Patch\n*** Add File: a.go\n+x\n*** Update File: b c.go\n@@\n*** Delete File: d.go\n*** Move to: e/f.go\n*** End Patch",
			[]File{{"a.go", false}, {"b c.go", false}, {"d.go", true}, {"e/f.go", false}}, true},
		{"a unified diff names what it writes", "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+b", []File{{"x.go", false}}, true},
		{"lines may be set in, and end as on Windows", "  *** Update File: a.go  \r\n", []File{{"a.go", false}}, true},
		{"a line of content is none", "*** Update File: a.go\n+*** Delete File: b.go", []File{{"a.go", false}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Files(tt.text)
			if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
				t.Errorf("ok %v, files (-want +got):\n%s", ok, diff)
			}
		})
	}
}

// FuzzFiles holds that every name stands in the text, on one line.
func FuzzFiles(f *testing.F) {
	f.Add("*** Begin Patch\n*** Delete File: a\n*** End Patch")
	f.Fuzz(func(t *testing.T, text string) {
		files, ok := Files(text)
		if !ok && len(files) > 0 {
			t.Errorf("%d files, and no patch", len(files))
		}
		for _, file := range files {
			if !strings.Contains(text, file.Name) || strings.Contains(file.Name, "\n") {
				t.Errorf("%q is not on a line of %q", file.Name, text)
			}
		}
	})
}
