package web_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/web"
)

// governed is a house with a policy that can be changed, people who can be added, and a
// provider to sign in at: each says the same always, for what they do is tested elsewhere.
func governed(doors *api.Config, pages *web.Config) {
	doors.Policy, doors.Roster, pages.Login = &ruled{}, &listed{}, &mirror{}
}

type ruled struct{ api.Policies }

func (*ruled) Pushable() bool { return true }

func (*ruled) State(context.Context, string) (api.PolicyState, error) {
	return api.PolicyState{Revision: "3f9a21c0", Mode: "enforce", Pushable: true, Modules: 44, Rules: []api.PolicyRule{
		{IDs: []string{"files.delete"}, Package: "holdgate", Title: "Deleting files", Risk: "high", Location: "files/files.rego:12"},
		{IDs: []string{"files.delete"}, Package: "holdgate", Title: "Emptying files", Risk: "medium", Location: "files/files.rego:40"},
		{IDs: []string{"files.delete"}, Package: "holdgate", Title: "Deleting files", Risk: "high", Location: "files/files.rego:60"},
		{IDs: []string{"commands.publish"}, Package: "holdgate", Title: "Publishing", Risk: "high", Location: "commands/commands.rego:80"},
	}}, nil
}

func (*ruled) Eval(context.Context, []byte) (json.RawMessage, error) {
	return json.RawMessage(`{"action":"hold","rule":"commands.publish","reason":"It publishes what others use."}`), nil
}

func (*ruled) Facts(context.Context, []byte) (json.RawMessage, error) {
	return json.RawMessage(`{"commands":[{"program":"git","argv":["git","push","--force"]}],"parsed":true}`), nil
}

var exceptionFiles = map[string]string{"exceptions.yaml": "settings:\n  exceptions:\n    - rule: files.delete\n      match: {tool: Bash, about: [\"rm -rf build\"]}\n",
	"spares_test.rego": "package spares_test\n\nimport rego.v1\n\ntest_spares if true\n"}

func (*ruled) Draft(context.Context, string, string) (api.PolicyDraft, error) {
	return api.PolicyDraft{Name: "never ask about rm -rf build", Files: exceptionFiles}, nil
}

func (*ruled) Review(context.Context, api.PolicyPush) (api.PolicyReview, error) {
	since := time.Now().AddDate(0, 0, -30)
	return api.PolicyReview{Revision: "77ab01cd", Change: "one more exception, of files.delete", MayLoosen: true, Tests: 2, Since: since, Calls: 812, Same: 790, Changed: 22, Unknown: 3,
		Table:   []api.PolicyChange{{Was: "hold", Now: "allow", WasRule: "files.delete", NowRule: "default", Calls: 22}},
		Refused: 9, RefusedUnknown: 1, Passing: 1, Passes: []api.PolicyPass{{Time: since, What: "Bash: rm -rf build", WasRule: "files.delete"}}}, nil
}

func (*ruled) Suggest(context.Context) (api.PolicySuggestions, error) {
	return api.PolicySuggestions{Questions: 120, Spares: 53, Denied: 7, Suggestions: []api.PolicySuggestion{
		{Rule: "files.delete", Tool: "Bash", About: []string{"rm -rf build"}, Spares: 41, Files: exceptionFiles},
		{Rule: "tools.unknown", Tool: "notes", Spares: 12, WholeTool: true, Files: exceptionFiles},
	}}, nil
}

type listed struct{ api.Roster }

func (*listed) People() []api.PersonState {
	at := time.Now().Add(-3 * time.Hour)
	return []api.PersonState{
		{Name: "ada", Source: api.SourceFile, Roles: []string{people.RoleApprove, people.RoleAdmin}, Accounts: []string{"slack:U024BE7LH"}, Token: true, Unlinked: true},
		{Name: "bob", Source: api.SourceHere, Roles: []string{people.RoleApprove, "dba"}, Accounts: []string{"oidc:bob@example.com"}, Token: true, By: "ada", At: at},
		{Name: "carol@example.com", Source: api.SourceProvider, Roles: []string{people.RoleApprove}, Accounts: []string{"oidc:carol@example.com"}},
		{Name: "eve", Source: api.SourceFile, Roles: []string{people.RoleApprove}, Removed: true, By: "ada", At: at},
		{Name: "olga", Source: api.SourceLocal, Roles: []string{people.RoleOperate}, Token: true},
	}
}

func (l *listed) PutPerson(context.Context, string, string, api.PersonPut) error { return nil }
