package operands

import (
	"strings"
	"testing"
)

func TestUses(t *testing.T) {
	for _, tt := range []struct {
		use    Use
		n      int
		target bool
		want   string
	}{
		{UseRead, 2, false, "read read"},
		{UseWrite, 2, false, "write write"},
		{UseOutput, 1, false, "write"},
		{useDelete, 2, false, "delete delete"},
		{UseCopy, 3, false, "read read write"},
		{UseCopy, 2, true, "read read"},
		{UseCopy, 1, false, "read"},
		{UseMove, 2, false, "delete write"},
		{UseSkipWrite, 2, false, "- write"},
		{UseSkipRead, 2, false, "- read"},
		{UseFirstWrite, 2, false, "write read"},
		{UseSecondWrite, 3, false, "read write read"},
		{useNone, 1, false, "-"},
	} {
		var got []string
		for i := range tt.n {
			access := tt.use.Of(i, tt.n, tt.target)
			if access == "" {
				access = "-"
			}
			got = append(got, access)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("use %d of %d operands, target %v: %q, want %q", tt.use, tt.n, tt.target, s, tt.want)
		}
	}
}

// A row that names a letter which takes no value, or a name with dashes, is a typing
// error that nothing else would notice.
func TestRowsAreSound(t *testing.T) {
	for name, p := range Table() {
		for what, letters := range map[string]string{"reads": p.Reads, "writes": p.Writes, "globs": p.Globs, "types": p.Types} {
			for _, c := range letters {
				if !strings.ContainsRune(p.Valued, c) {
					t.Errorf("%s: -%c of %s takes no value", name, c, what)
				}
			}
		}
		for word := range strings.FieldsSeq(p.Long + " " + p.Runs) {
			if strings.HasPrefix(word, "-") {
				t.Errorf("%s: %s begins with a dash", name, word)
			}
		}
	}
}
