package learn_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/learn"
	"github.com/holdgate/holdgate/store/audit"
)

func suggest(t testing.TB, r *recorder) learn.Suggestions {
	t.Helper()
	got, err := learn.Suggest(t.Context(), r.engine, r.log(), learn.SuggestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestSuggestNamesWhatPeopleAlwaysApprove(t *testing.T) {
	r := record(t, nil)
	for range 4 {
		r.ends(r.decide(writes("/srv/www/index.html")), holdgate.AnswerApprove, "ann")
	}
	r.ends(r.decide(writes("/srv/www/style.css")), holdgate.AnswerApprove, "bob, ann")
	r.ends(r.decide(writes("/srv/www/secret.html")), holdgate.AnswerDeny, "ann")
	r.ends(r.decide(writes("/srv/www/secret.html")), holdgate.AnswerApprove, "ann")
	r.ends(r.decide(writes("/srv/www/late.html")), holdgate.AnswerTimeout, "holdgate")
	r.decide(writes("/srv/www/waits.html"))

	got := suggest(t, r)
	if len(got.List) != 1 || got.Questions != 9 || got.Approved != 6 || got.Spares != 5 || got.Denied != 2 || got.Unknown != 0 {
		t.Fatalf("got %+v", got)
	}
	s := got.List[0]
	want := rego.Exception{Rule: "files.outside", Match: rego.ExceptionMatch{Agent: "coder", Tool: "Write", About: []string{"/srv/www/index.html", "/srv/www/style.css"}},
		Reason: "People approved it 5 times since 2026-11-01, and never denied it."}
	if diff := cmp.Diff(want, s.Exception); diff != "" {
		t.Errorf("exception (-want +got):\n%s", diff)
	}
	if !slices.Equal(s.By, []string{"ann", "bob"}) || s.Spares != 5 || s.Example != 1 {
		t.Errorf("got %+v", s)
	}
}

// Nothing is suggested of these, however often people approve them.
func TestSuggestLeavesOutWhatPeopleMustSee(t *testing.T) {
	required := map[string]string{"own.rego": `package holdgate.custom.own

decisions contains {"action": "hold", "rule": "own.always", "risk": "low", "reason": "always", "about": [input.tool.name], "hold": {"required": true}} if input.tool.name == "always"

decisions contains {"action": "hold", "rule": "own.gate", "risk": "low", "reason": "gate", "about": [input.tool.name], "hold": {"gate": "code_review"}} if input.tool.name == "gated"

decisions contains {"action": "hold", "rule": "own.critical", "risk": "critical", "reason": "critical", "about": [input.tool.name]} if input.tool.name == "grave"
`}
	engine := policy(t, required)
	for name, in := range map[string]rego.Input{
		"a program":                 tool("Bash", `{"command":"rm -rf build"}`),
		"what is not known before":  tool("Bash", `{"command":"rm $X"}`),
		"an address":                tool("fetch_page", `{"url":"https://example.com/a"}`),
		"a message":                 tool("send_email", `{"to":"bob","text":"hello"}`),
		"a secret file":             writes("/srv/.env"),
		"a file that runs later":    writes("/home/ann/.bashrc"),
		"the system's files":        writes("/etc/hosts"),
		"what a person must answer": tool("always", `{}`),
		"a gate":                    tool("gated", `{}`),
		"a critical call":           tool("grave", `{}`),
		"characters that deceive":   tool("notes_update", `{"text":"a\u202eb"}`),
		"a changed tool": func() rego.Input {
			in := tool("notes_update", `{"text":"a"}`)
			in.Call.Tool.Learned = &holdgate.Learned{Changed: true}
			return in
		}(),
		"a session in touch with secrets": func() rego.Input {
			in := tool("send_email", `{"to":"bob"}`)
			in.Taint = []string{"untrusted", "secrets"}
			return in
		}(),
		"the mode manual": func() rego.Input {
			in := writes(folder + "/a")
			in.Mode = "manual"
			return in
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{t: t, engine: engine, at: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)}
			for range 10 {
				n := r.decide(in)
				if n.Decision.Action != holdgate.Hold {
					t.Fatalf("the control is not asked about: %+v", n.Decision)
				}
				r.ends(n, holdgate.AnswerApprove, "ann")
			}
			got := suggest(t, r)
			if len(got.List) != 0 {
				t.Errorf("got %+v", got.List)
			}
			if runs := in.Call.Tool.Name == "Bash"; runs != (got.Commands == 10) || got.Approved != 10 {
				t.Errorf("got %d commands of %d approved", got.Commands, got.Approved)
			}
		})
	}
}

// A denied call that can't be judged again speaks against its tool.
func TestSuggestIsSilentWhereADenialCannotBeJudged(t *testing.T) {
	r := record(t, nil)
	for range 5 {
		r.ends(r.decide(writes("/srv/www/index.html")), holdgate.AnswerApprove, "ann")
	}
	n := r.decide(writes("/srv/www/other.html"))
	r.entries[len(r.entries)-1].Input = nil
	r.ends(n, holdgate.AnswerDeny, "ann")
	if got := suggest(t, r); len(got.List) != 0 || got.Unknown != 1 {
		t.Errorf("got %+v", got)
	}
}

// Nothing that is suggested lets any denied call pass, nor one that runs
// something, reaches out, or is not known before it runs. The calls are judged as
// they were made, not as the log has them.
func TestSuggestLoosensNothingThatWasDenied(t *testing.T) {
	settings := map[string]string{"s.yaml": "settings: {tools: {delete_row: deny, files/query: ask}}\n"}
	engine := policy(t, settings)
	rapid.Check(t, func(rt *rapid.T) {
		r := &recorder{t: t, engine: engine, at: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)}
		var denied []rego.Input
		for range 3 { // so that there is something to suggest
			r.ends(r.decide(tool("Edit", `{"file_path":"/srv/always","new_string":"b","old_string":"a"}`)), holdgate.AnswerApprove, "ann")
		}
		for range rapid.IntRange(10, 30).Draw(rt, "calls") {
			in := drawCall(rt)
			n := r.decide(in)
			switch n.Decision.Action {
			case holdgate.Deny:
				denied = append(denied, in)
			case holdgate.Hold:
				// Mostly approved, else there was nothing to suggest.
				a := holdgate.AnswerApprove
				if rapid.IntRange(0, 4).Draw(rt, "refused") == 4 {
					a = rapid.SampledFrom([]holdgate.Answer{"deny", "steer", "edit", "timeout", "cancel"}).Draw(rt, "answer")
				}
				by := map[holdgate.Answer]string{"timeout": "holdgate", "cancel": "holdgate"}[a]
				if by == "" {
					by = "ann"
				}
				r.ends(n, a, by)
				if a != holdgate.AnswerApprove && a != holdgate.AnswerCancel {
					denied = append(denied, in)
				}
			}
		}
		got := suggest(t, r)
		if len(got.List) == 0 {
			rt.Fatal("nothing is suggested")
		}
		var list []rego.Exception
		for _, s := range got.List {
			list = append(list, s.Exception)
		}
		with, err := engine.With(t.Context(), list)
		if err != nil {
			rt.Fatal(err)
		}
		for _, in := range denied {
			if d := with.Decide(t.Context(), in); d.Action == holdgate.Allow {
				rt.Fatalf("%v lets %s %s pass, which was denied", list, in.Call.Tool.Name, in.Call.Tool.Arguments)
			}
		}
		checkSpared(rt, r, with, got)
	})
}

// checkSpared compares the counts with the calls that pass now.
func checkSpared(rt *rapid.T, r *recorder, with *rego.Engine, got learn.Suggestions) {
	asked := map[string]audit.Entry{}
	spared := 0
	for _, n := range r.entries {
		if n.Type == audit.TypeDecision {
			asked[n.RequestID] = n
			continue
		}
		if n.Outcome.Decision != holdgate.AnswerApprove {
			continue
		}
		past := learn.PastOf(asked[n.RequestID], rego.Own{})
		before, err := r.engine.Again(r.t.Context(), past)
		if err != nil {
			continue
		}
		after, err := with.Again(r.t.Context(), past)
		if err == nil && before.Action == holdgate.Hold && after.Action == holdgate.Allow {
			spared++
			if f := *before.Facts; !learn.Plain(f) {
				rt.Fatalf("%+v passes", f)
			}
		}
	}
	if spared != got.Spares {
		rt.Fatalf("%d questions are spared, told are %d", spared, got.Spares)
	}
}

func drawCall(t *rapid.T) rego.Input {
	place := rapid.SampledFrom([]string{"/srv/a", "/srv/b", "/srv/.env", "/etc/hosts", folder + "/x", "/opt/c", "$HOME/y"})
	name := rapid.SampledFrom([]string{"Write", "Write", "write_file", "Delete", "Bash", "notes_update", "query", "delete_row", "fetch_page"}).Draw(t, "tool")
	var in rego.Input
	switch name {
	case "Bash":
		in = tool(name, `{"command":"`+rapid.SampledFrom([]string{"ls", "rm -rf x", "rm $X", "curl http://e.com", "cp a /srv/a"}).Draw(t, "command")+`"}`)
	case "query":
		in = tool(name, `{"sql":"`+rapid.SampledFrom([]string{"select 1", "update t set a=1 where b=2", "drop table t", "insert into t values (1)"}).Draw(t, "sql")+`"}`)
	case "notes_update", "delete_row":
		in = tool(name, `{"id":"`+rapid.SampledFrom([]string{"1", "2", "ghp_0123456789abcdefghijABCDEFGHIJ012345"}).Draw(t, "id")+`"}`)
	case "fetch_page":
		in = tool(name, `{"url":"https://example.com/"}`)
	default:
		in = tool(name, `{"file_path":"`+place.Draw(t, "path")+`","path":"`+place.Draw(t, "path")+`"}`)
	}
	in.Call.Agent.ID = rapid.SampledFrom([]string{"coder", "coder", "tester"}).Draw(t, "agent")
	in.Call.Tool.Server = rapid.SampledFrom([]string{"", "", "files"}).Draw(t, "server")
	return in
}
