package authzen_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"
)

// todo is a policy for the working group's interop scenario: a list of tasks that five people
// share, whose roles say what they may do to whose tasks.
const todo = `package holdgate

import rego.v1

roles := {
	"rick@the-citadel.com": {"admin", "evil_genius", "editor"},
	"morty@the-citadel.com": {"editor"},
	"summer@the-smiths.com": {"editor"},
	"beth@the-smiths.com": {"viewer"},
	"jerry@the-smiths.com": {"viewer"},
}

mail := {
	"CiRmZDA2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs": "rick@the-citadel.com",
	"CiRmZDE2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs": "morty@the-citadel.com",
	"CiRmZDI2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs": "summer@the-smiths.com",
	"CiRmZDM2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs": "beth@the-smiths.com",
	"CiRmZDQ2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs": "jerry@the-smiths.com",
}

who := object.get(mail, input.access.subject.id, input.access.subject.id)

owner := object.get(input.tool.arguments.resource, ["properties", "ownerID"], object.get(input.tool.arguments.resource, "ownerID", null))

own if {
	"editor" in roles[who]
	owner == who
}

may if {
	input.tool.name in {"can_read_user", "can_read_todos"}
	roles[who]
}

may if {
	input.tool.name == "can_create_todo"
	"editor" in roles[who]
}

may if {
	input.tool.name == "can_update_todo"
	"evil_genius" in roles[who]
}

may if {
	input.tool.name == "can_delete_todo"
	"admin" in roles[who]
}

may if {
	input.tool.name in {"can_update_todo", "can_delete_todo"}
	own
}

default decision := {"action": "deny", "rule": "todo.not_allowed", "reason": "no role of theirs allows it"}

decision := {"action": "allow", "rule": "todo.role"} if may
`

// people of the scenario: how tokens and how mail calls them, and what they may do.
var todoPeople = []struct {
	id, mail              string
	create, others, their bool
}{
	{"CiRmZDA2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", "rick@the-citadel.com", true, true, true},
	{"CiRmZDE2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", "morty@the-citadel.com", true, false, true},
	{"CiRmZDI2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", "summer@the-smiths.com", true, false, true},
	{"CiRmZDM2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", "beth@the-smiths.com", false, false, false},
	{"CiRmZDQ2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", "jerry@the-smiths.com", false, false, false},
}

const todoID = "7240d0db-8ff0-41ec-98b2-34a096273b9f"

// todoResource is a task of somebody's: its owner stands in the resource itself, as in the
// requests for draft 00 of Authorization API 1.0, or among its properties, as in those for draft 02.
func todoResource(owner string, among bool) map[string]any {
	r := map[string]any{"type": "todo", "id": todoID}
	if among {
		r["properties"] = map[string]any{"ownerID": owner}
	} else {
		r["ownerID"] = owner
	}
	return r
}

// The requests are those of the AuthZEN working group's interop scenario (the back end of its
// todo application), for each person, as the scenario's two forms have them.
func TestAuthZENAnswersTheInteropScenario(t *testing.T) {
	t.Parallel()
	g := newPDP(t, proxytest.WithPolicy(t, todo))
	ask := func(path string, body map[string]any) []bool {
		t.Helper()
		raw, err := json.Marshal(body)
		proxytest.Must(t, err)
		resp, text := pdp(g, proxytest.AnnsToken, http.MethodPost, path, string(raw))
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", raw, resp.StatusCode, text)
		}
		return decisions(t, text)
	}
	asked := 0
	for _, form := range []string{"draft 00", "draft 02"} {
		among := form == "draft 02"
		for _, p := range todoPeople {
			subject := map[string]any{"type": "user", "id": p.mail, "identity": p.id}
			if among {
				subject = map[string]any{"type": "user", "id": p.id}
			}
			user := func(id string) map[string]any { return map[string]any{"type": "user", "id": id} }
			other := "rick@the-citadel.com"
			if p.mail == other {
				other = "morty@the-citadel.com"
			}
			list := map[string]any{"type": "todo", "id": "todo-1"}
			for _, c := range []struct {
				action   string
				resource map[string]any
				want     bool
			}{
				{"can_read_user", user("beth@the-smiths.com"), true},
				{"can_read_user", user(p.mail), true},
				{"can_read_todos", list, true},
				{"can_create_todo", list, p.create},
				{"can_update_todo", todoResource(other, among), p.others},
				{"can_update_todo", todoResource(p.mail, among), p.their},
				{"can_delete_todo", todoResource(other, among), p.others},
				{"can_delete_todo", todoResource(p.mail, among), p.their},
			} {
				got := ask(evaluation, map[string]any{"subject": subject, "action": map[string]any{"name": c.action}, "resource": c.resource})
				if asked++; !slices.Equal(got, []bool{c.want}) {
					t.Errorf("%s, %s: %s on %v is %v, want %t", form, p.mail, c.action, c.resource, got, c.want)
				}
			}
			got := ask(evaluations, map[string]any{
				"subject": subject, "action": map[string]any{"name": "can_update_todo"},
				"evaluations": []any{map[string]any{"resource": todoResource(other, among)}, map[string]any{"resource": todoResource(p.mail, among)}},
			})
			if !slices.Equal(got, []bool{p.others, p.their}) {
				t.Errorf("%s, %s: of two tasks %v may be changed, want %t and %t", form, p.mail, got, p.others, p.their)
			}
		}
	}
	if asked != 80 {
		t.Errorf("%d requests were made", asked)
	}
	if _, text := pdp(g, proxytest.AnnsToken, http.MethodPost, evaluation,
		`{"subject":{"type":"user","id":"nobody@the-smiths.com"},"action":{"name":"can_read_todos"},"resource":{"type":"todo","id":"todo-1"}}`); !strings.Contains(text, `"decision":false`) {
		t.Errorf("somebody who is not in the scenario: %s", text)
	}
}
