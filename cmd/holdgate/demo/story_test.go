package demo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAStoryIsBrokenBetweenWords(t *testing.T) {
	const link = "http://127.0.0.1:7301/in#0123456789012345678901234567890123456789"
	for name, c := range map[string]struct{ told, want string }{
		"what fits":              {"user   > Clean up the folder.\n  data/a.csv\n", "user   > Clean up the folder.\n  data/a.csv\n"},
		"below the speaker":      {"model  > I delete the data and then I look\nuser   > Go on.\n", "model  > I delete the data and\n         then I look\nuser   > Go on.\n"},
		"below what is indented": {"           why: It deletes some files.\n", "           why: It deletes some\n           files.\n"},
		"a link stays whole":     {"This link signs you in, once:\n  " + link + "\n\nThen go on.\n", "This link signs you in, once:\n  " + link + "\n\nThen go on.\n"},
		"a command":              {"you    $ holdgate steer r1 \"move it to archive/\"\n", "you    $ holdgate steer r1 \"move\n         it to archive/\"\n"},
		"wide characters":        {"user   > 漢字漢字漢字漢字 漢字漢字漢字\n", "user   > 漢字漢字漢字漢字\n         漢字漢字漢字\n"},
		"without an end":         {"user   > Go on", "user   > Go on"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, parts := range [][]string{{c.told}, strings.SplitAfter(c.told, " ")} { // as it is streamed
				var b strings.Builder
				s := &story{w: &b, width: 32}
				for _, part := range parts {
					if _, err := s.Write([]byte(part)); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(c.want, b.String()); diff != "" {
					t.Errorf("in %d parts (-want +got):\n%s", len(parts), diff)
				}
			}
		})
	}
}
