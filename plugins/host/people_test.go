package host

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
)

// Whoever lacks the role is told so, in a channel that was told who has it; what
// the role allows counts.
func TestAVoteWithoutTheRoleDoesNotCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		accounts []string // of Ada, who may only operate
		answer   string
		says     string
		status   holdgate.Status
	}{
		{"approving takes the role", []string{"puppet:ada"}, "approve", "approving takes the role approve, which Ada does not have", holdgate.StatusPending},
		{"denying does not", []string{"puppet:ada"}, "deny", "", holdgate.StatusDenied},
		{"nor does steering", []string{"puppet:ada"}, "steer", "", holdgate.StatusSteered},
		{"a stranger may nothing", nil, "deny", `nobody knows who "puppet:ada" is`, holdgate.StatusPending},
		{"an account of another channel is a stranger's", []string{"pupp:et:ada", "other:ada"}, "deny", `nobody knows who "puppet:ada" is`, holdgate.StatusPending},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			people, err := people.New("", []people.Person{
				{Name: "Ada", Roles: []string{people.RoleOperate}, Accounts: c.accounts},
				{Name: "Ben", Roles: []string{people.RoleApprove}, Accounts: []string{"puppet:ben"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.queue.SetPeople(t.Context(), people); err != nil {
				t.Fatal(err)
			}
			b.run(b.puppet("puppet", script{Answers: []string{c.answer}}))
			r := b.ask("rm -rf build")
			if n := b.next("notify").Notice; !slices.Equal(n.Voters, []string{"ben"}) {
				t.Errorf("voters are %v", n.Voters)
			}
			if v := b.next("verdict"); c.says == "" && v.Err != "" || !strings.Contains(v.Err, c.says) {
				t.Errorf("the verdict is %q %q, want %q", v.Status, v.Err, c.says)
			}
			if got := b.request(r.ID); got.Status != c.status {
				t.Errorf("the request is %s: %+v", got.Status, got.Votes)
			}
		})
	}
}
