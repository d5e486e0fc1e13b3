package people_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
)

func TestNobodyCanApprove(t *testing.T) {
	persons, err := people.New("ada", []people.Person{
		{Name: "ada", Roles: []string{"approve", "admin"}, Accounts: []string{"slack:U1", "mail:ada@example.org"}},
		{Name: "bob", Roles: []string{"approve", "security"}, Accounts: []string{"slack:U2"}},
		{Name: "cyd", Roles: []string{"approve", "security"}},
		{Name: "ops", Roles: []string{"operate"}},
		{Name: "guest", Roles: []string{"security"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		people *people.People
		a      holdgate.Approvers
		owner  string
		why    string
	}{
		{"a role that nobody has", persons, holdgate.Approvers{Roles: []string{"legal"}}, "", "one person of the role legal, and there is nobody"},
		{"a user who may not approve", persons, holdgate.Approvers{Users: []string{"guest"}}, "", "one person of guest, and there is nobody"},
		{"a user who is not there", persons, holdgate.Approvers{Users: []string{"eve"}}, "", "one person of eve, and there is nobody"},
		{"a quorum that is too large", persons, holdgate.Approvers{Quorum: 4}, "", "4 people, and there is only ada, bob, cyd"},
		{"a quorum of a role that is too large", persons, holdgate.Approvers{Roles: []string{"security"}, Quorum: 3}, "", "3 people of the role security, and there is only bob, cyd"},
		{"nobody but the owner", persons, holdgate.Approvers{Users: []string{"bob"}, FourEyes: true}, "slack:U2", "other than bob, for whom the agent works, and there is nobody"},
		{"an owner whom nobody knows", persons, holdgate.Approvers{FourEyes: true}, "eve", "nobody knows who that is"},
		{"an assurance that no channel has", persons, holdgate.Approvers{Assurance: "absolute"}, "", `the assurance "absolute"`},
		{"a quorum where nobody is configured", people.Alone("root"), holdgate.Approvers{Quorum: 2}, "", "2 people, and there is only root"},
		{"four eyes where nobody is configured", people.Alone("root"), holdgate.Approvers{FourEyes: true}, "", "other than root, for whom the agent works"},
		{"a role of a rule's where nobody is configured", people.Alone("root"), holdgate.Approvers{Roles: []string{"security"}}, "", "the role security"},
		{"anybody", persons, holdgate.Approvers{}, "", ""},
		{"a role of Holdgate's own where nobody is configured", people.Alone("root"), holdgate.Approvers{Roles: []string{"admin"}}, "", ""},
		{"an escalation makes up for it", persons, holdgate.Approvers{Roles: []string{"legal"}, Escalate: []holdgate.Escalation{{After: 1, Users: []string{"ada"}}}}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.people.Check(tt.a, tt.owner)
			if tt.why == "" && err != nil || tt.why != "" && (err == nil || !strings.Contains(err.Error(), tt.why)) {
				t.Errorf("got %v, want %q", err, tt.why)
			}
		})
	}
}

func TestPeopleWhoCannotBe(t *testing.T) {
	ok := []string{"approve"}
	for name, list := range map[string][]people.Person{
		"there are no people":         nil,
		"cannot be a person's name":   {{Name: "a:b", Roles: ok}},
		"Holdgate uses it":            {{Name: "policy", Roles: ok}},
		"is there twice":              {{Name: "ada", Roles: ok}, {Name: "ada", Roles: ok}},
		"has no role":                 {{Name: "ada"}},
		"is no role":                  {{Name: "ada", Roles: []string{""}}},
		"is no account":               {{Name: "ada", Roles: ok, Accounts: []string{"U1"}}},
		"that of ada and of bob":      {{Name: "ada", Roles: ok, Accounts: []string{"slack:U1"}}, {Name: "bob", Roles: ok, Accounts: []string{"slack:U1"}}},
		`"a\u202eb" cannot be`:        {{Name: "a\u202eb", Roles: ok}},
		`"ada, bob" cannot be a pers`: {{Name: "ada, bob", Roles: ok}},
	} {
		if _, err := people.New("", list); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: got %v", name, err)
		}
	}
}
