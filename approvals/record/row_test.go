package record_test

import (
	"testing"

	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/approvals/record"
)

func TestATextIsFoundInTheOwnCall(t *testing.T) {
	r := record.Request{Rule: "files.delete", Agent: record.AgentRef{ID: "claude"}, Briefing: briefing.Briefing{Summary: "Deletes ./src", Sections: []briefing.Section{
		{Kind: briefing.KindCommand, Lines: []string{"rm -rf ./src"}}, {Kind: briefing.KindBefore, Lines: []string{"waits: Bash: make install"}}}}}
	for text, want := range map[string]bool{"": true, "deletes": true, "RM -RF": true, "files.": true, "claude": true, "install": false} {
		if got := r.Mentions(text); got != want {
			t.Errorf("%q is found: %v", text, got)
		}
	}
}
