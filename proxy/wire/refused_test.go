package wire

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatOnlyLooksLikeANoticeIsCounted(t *testing.T) {
	t.Parallel()
	const notice = Mark + "The call to Bash was not run (log entry 7)."
	many := func(n int, line string) (out string) {
		for i := range n {
			out += fmt.Sprintf(line, i) + "\n"
		}
		return out
	}
	for name, tt := range map[string]struct {
		before string
		found  bool
	}{
		"few guesses":               {many(MaxUnknown-1, Mark+"The call to Bash was not run (log entry 1%d)."), true},
		"too many":                  {many(MaxUnknown, Mark+"The call to Bash was not run (log entry 1%d)."), false},
		"one, again and again":      {strings.Repeat(Mark+"The call to Bash was not run (log entry 8).\n", 2*MaxUnknown), true},
		"other words of Holdgate's": {many(2*MaxUnknown, Mark+"The approver (ann) approved call %d."), true},
		"in the midst of a line":    {many(2*MaxUnknown, "> "+Mark+"The call to %d"), true},
	} {
		f := NewRefusals([]Refused{{Notice: notice}})
		f.Split(tt.before) // the bound is of the request, not of one text
		if found := f.Split("So.\n\n"+notice) != nil; found != tt.found {
			t.Errorf("%s: found is %v", name, found)
		}
	}
}
