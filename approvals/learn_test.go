package approvals_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

// taught is a decision of which three approvals in a day may be learned.
func taught(c holdgate.Call, edits ...func(*holdgate.Decision)) holdgate.Decision {
	d := seen(c, dir)
	d.Rule, d.Hold.Gate = "files.outside", ""
	d.Hold.Learn = holdgate.Learn{Approvals: 3, Days: 1}
	for _, e := range edits {
		e(&d)
	}
	return d
}

func page(path, content string) holdgate.Call {
	return call("write_file", args{"path": path, "content": content})
}

// approved asks about a call, and has it approved a minute later.
func (b *bench) approved(c holdgate.Call, d holdgate.Decision, by string, edits ...func(*approvals.Vote)) approvals.Request {
	b.t.Helper()
	time.Sleep(time.Minute)
	r := b.asks(c, d)
	time.Sleep(time.Minute)
	v := approve(r, by)
	for _, e := range edits {
		e(&v)
	}
	return b.decide(r, v)
}

// learned approves three pages.
func (b *bench) learned() approvals.Grant {
	b.t.Helper()
	var last approvals.Request
	for i, by := range []string{"ana", "ben", "ana"} {
		c := page("/srv/www/"+string(rune('a'+i))+".html", "x")
		if b.released(c, taught(c)) {
			b.t.Fatalf("released after %d approvals", i)
		}
		last = b.approved(c, taught(c), by)
	}
	if last.Outcome.Grant == "" {
		b.t.Fatal("nothing was learned")
	}
	return b.grant(last.Outcome.Grant)
}

func TestWhatPeopleAlwaysApproveIsLearned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		first := page("/srv/www/a.html", "x")
		g := b.learned()
		if g.Learned == nil || g.Learned.Approvals != 3 || len(g.Learned.Requests) != 3 || g.Scope != record.ScopeAgent || g.Match != record.MatchShape || strings.Join(g.By, " ") != "ana ben" {
			t.Errorf("learned %+v: %+v", g, g.Learned)
		}
		if want := "learned from 3 approvals: calls like write_file (content, path), in /srv/www, by claude in any session, where the rule files.outside asks"; g.Covers != want {
			t.Errorf("covers %q, want %q", g.Covers, want)
		}
		if got := g.ExpiresAt.Sub(g.Learned.Since); got != 24*time.Hour {
			t.Errorf("it ends %s after the first approval", got)
		}
		another := page("/srv/www/other.html", "y")
		elsewhere := from(approvals.Caller{Agent: caller.Agent, Session: holdgate.Session{ID: "s2"}, Door: "openai"}, another)
		if !b.released(another, taught(another)) || !b.released(elsewhere, taught(elsewhere)) {
			t.Error("a call like those is asked about")
		}
		if got := b.grant(g.ID); got.Uses != 2 {
			t.Errorf("%d uses", got.Uses)
		}
		e, err := b.log.Query(t.Context(), audit.Query{Type: audit.TypeGranted})
		if err != nil || len(e) != 2 || e[0].Outcome.By != "policy" || !strings.HasPrefix(e[0].Note, "learned: people approved 3 calls like it since ") {
			t.Errorf("logged: %+v, %v", e, err)
		}
		r := b.asks(first, taught(first, func(d *holdgate.Decision) { d.Rule = "files.other" }))
		if why := strings.Join(r.Briefing.Why, "\n"); !strings.Contains(why, "approving it teaches: after 3 approvals of calls like it within 1d") {
			t.Errorf("people are not told: %s", why)
		}
		b.close()
	})
}

// What is never learned, however often people approve it: each is the call that
// is learned but for one thing.
func TestWhatIsNeverLearned(t *testing.T) {
	t.Parallel()
	web := page("/srv/www/a.html", "x")
	asserted := from(approvals.Caller{Agent: holdgate.Agent{ID: "claude"}, Session: caller.Session, Door: caller.Door}, web)
	by := func(change func(*approvals.Vote)) []func(*approvals.Vote) { return []func(*approvals.Vote){change} }
	for _, tt := range []struct {
		name string
		c    holdgate.Call
		edit func(*holdgate.Decision)
		vote []func(*approvals.Vote)
	}{
		{"where nobody has set it", web, func(d *holdgate.Decision) { d.Hold.Learn = holdgate.Learn{} }, nil},
		{"what a person must answer each time", web, func(d *holdgate.Decision) { d.Hold.Required = true }, nil},
		{"what the rule does not let be remembered", web, func(d *holdgate.Decision) { d.Hold.Allow = []string{"steer"} }, nil},
		{"a gate", web, func(d *holdgate.Decision) { d.Hold.Gate = "before_commit" }, nil},
		{"what is grave", web, risk(holdgate.RiskHigh), nil},
		{"beside what is grave", web, func(d *holdgate.Decision) {
			d.Also = []holdgate.Finding{{Rule: "other", Risk: holdgate.RiskCritical}}
		}, nil},
		{"what policy hides", web, func(d *holdgate.Decision) { d.Redact = []string{"/tool/arguments/content"} }, nil},
		{"a rule without a name", web, func(d *holdgate.Decision) { d.Rule = holdgate.RuleUnnamed }, nil},
		{"an agent whose name is its own word", asserted, nil, nil},
		{"a program", call("Bash", args{"command": "git push"}), nil, nil},
		{"a program behind another tool", call("write_file", args{"path": "/srv/www/a.html", "command": "make"}), nil, nil},
		{"what is not known before it runs", call("Bash", args{"command": "cat $FILE"}), nil, nil},
		{"the network", call("WebFetch", args{"url": "https://a.example/x"}), nil, nil},
		{"an address beside a file", call("download_file", args{"path": "/srv/www/a.html", "url": "https://a.example/x"}), nil, nil},
		{"what deletes", call("delete_file", args{"path": "/srv/www/a.html"}), nil, nil},
		{"a message", call("send_email", args{"to": "ann@a.example", "body": "hi"}), nil, nil},
		{"SQL", call("query", args{"sql": "update users set a = 1"}), nil, nil},
		{"what decides over the agent", page("/home/ann/.bashrc", "x"), nil, nil},
		{"a secret's file", page("/srv/www/.env", "x"), nil, nil},
		{"a secret", page("/srv/www/a.html", "ghp_0123456789abcdefghijABCDEFGHIJ012345"), nil, nil},
		{"text that deceives", page("/srv/www/\u202egpj.html", "x"), nil, nil},
		{"arguments that are none", from(caller, holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "write_file", ArgumentsRaw: "{"}}), nil, nil},
		{"what a text alone approved", web, nil, by(func(v *approvals.Vote) { v.Channel, v.Assurance = "email", "text" })},
		{"what --auto approved", web, nil, by(func(v *approvals.Vote) { v.Channel = "auto" })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				var edits []func(*holdgate.Decision)
				if tt.edit != nil {
					edits = append(edits, tt.edit)
				}
				d := taught(tt.c, edits...)
				for range 5 {
					if got := b.approved(tt.c, d, "ana", tt.vote...); got.Outcome.Grant != "" {
						t.Fatalf("learned: %+v", b.grant(got.Outcome.Grant))
					}
				}
				if b.released(tt.c, d) {
					t.Error("released")
				}
				b.close()
			})
		})
	}
}

// What comes close to what was learned, and is asked about.
func TestWhatWasLearnedCoversNothingElse(t *testing.T) {
	t.Parallel()
	web := page("/srv/www/new.html", "y")
	other := func(change func(*approvals.Caller)) holdgate.Call {
		who := caller
		change(&who)
		return from(who, web)
	}
	set := func(l holdgate.Learn) func(*holdgate.Decision) {
		return func(d *holdgate.Decision) { d.Hold.Learn = l }
	}
	for _, tt := range []struct {
		name string
		c    holdgate.Call
		edit func(*holdgate.Decision)
	}{
		{"another folder", page("/srv/other/new.html", "y"), nil},
		{"a folder below", page("/srv/www/deep/new.html", "y"), nil},
		{"another argument", call("write_file", args{"path": "/srv/www/new.html", "content": "y", "mode": "0777"}), nil},
		{"another tool", call("edit_file", args{"path": "/srv/www/new.html", "content": "y"}), nil},
		{"another agent", other(func(w *approvals.Caller) { w.Agent.ID = "other" }), nil},
		{"the name without the proof", other(func(w *approvals.Caller) { w.Agent.Proven = false }), nil},
		{"the agent without its cage", other(func(w *approvals.Caller) { w.Agent.Confinement = "" }), nil},
		{"another rule", web, func(d *holdgate.Decision) { d.Rule = "files.other" }},
		{"a higher risk", web, risk(holdgate.RiskHigh)},
		{"more approvals wanted", web, set(holdgate.Learn{Approvals: 4, Days: 1})},
		{"switched off", web, set(holdgate.Learn{})},
		{"two people wanted who are sure", web, func(d *holdgate.Decision) {
			d.Hold.Approvers = holdgate.Approvers{Quorum: 3}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.learned()
				if !b.released(web, taught(web)) {
					t.Fatal("what was learned is not released")
				}
				var edits []func(*holdgate.Decision)
				if tt.edit != nil {
					edits = append(edits, tt.edit)
				}
				if b.released(tt.c, taught(tt.c, edits...)) {
					t.Error("released")
				}
				b.close()
			})
		})
	}
}

// A person who wants otherwise, once, ends what was learned, and counting begins
// anew.
func TestANoUnlearns(t *testing.T) {
	t.Parallel()
	web := page("/srv/www/new.html", "y")
	for name, end := range map[string]func(b *bench, g approvals.Grant){
		"a denial": func(b *bench, _ approvals.Grant) {
			r := b.asks(web, taught(web, func(d *holdgate.Decision) { d.Rule = "files.other" }))
			b.decide(r, approvals.Vote{Decision: holdgate.AnswerDeny, By: "eve", Channel: "email", Assurance: "text"})
		},
		"a denial to another agent": func(b *bench, _ approvals.Grant) {
			c := from(approvals.Caller{Agent: holdgate.Agent{ID: "other"}, Door: "x"}, web)
			b.decide(b.asks(c, taught(c)), approvals.Vote{Decision: holdgate.AnswerDeny, By: "eve", Channel: "cli"})
		},
		"a steer": func(b *bench, _ approvals.Grant) {
			r := b.asks(web, taught(web, func(d *holdgate.Decision) { d.Rule = "files.other" }))
			b.decide(r, approvals.Vote{Decision: holdgate.AnswerSteer, By: "eve", Channel: "cli", Instructions: "ask me first"})
		},
		"an edit": func(b *bench, _ approvals.Grant) {
			r := b.asks(web, taught(web, editing, func(d *holdgate.Decision) { d.Rule = "files.other" }))
			b.decide(r, edit(r, "eve", `{"path":"/srv/www/new.html","content":"better"}`))
		},
		"revoking it": func(b *bench, g approvals.Grant) {
			if _, err := b.queue.Grants.Revoke(b.t.Context(), g.ID, "eve"); err != nil {
				b.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				g := b.learned()
				end(b, g)
				if b.released(web, taught(web)) {
					t.Fatal("it is still released")
				}
				if list, err := b.queue.Grants.List(t.Context(), ""); err != nil || len(list) != 0 {
					t.Errorf("still listed: %+v, %v", list, err)
				}
				b.reopen()
				b.learned() // fails where fewer than three approvals are enough now
				b.close()
			})
		})
	}
	t.Run("before there is anything to end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			b.approved(web, taught(web), "ana")
			b.approved(web, taught(web), "ana")
			r := b.asks(web, taught(web))
			b.decide(r, approvals.Vote{Decision: holdgate.AnswerDeny, By: "eve", Channel: "cli"})
			time.Sleep(time.Minute)
			b.learned()
			b.close()
		})
	})
}

// Neither a flood nor a long time makes few approvals into many.
func TestApprovalsThatCountOnce(t *testing.T) {
	t.Parallel()
	web := page("/srv/www/new.html", "y")
	t.Run("a flood that is approved in one go", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			var flood []approvals.Request
			for i := range 6 {
				flood = append(flood, b.asks(page("/srv/www/"+string(rune('a'+i)), "x"), taught(web)))
			}
			for _, r := range flood {
				time.Sleep(time.Second)
				if got := b.decide(r, approve(r, "ana")); got.Outcome.Grant != "" {
					t.Fatal("learned")
				}
			}
			b.close()
		})
	})
	t.Run("those of another agent, of another rule, and of the agent in another cage", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			for _, change := range []func(*approvals.Caller){
				func(*approvals.Caller) {},
				func(w *approvals.Caller) { w.Agent.ID = "other" },
				func(w *approvals.Caller) { w.Agent.Confinement = "" },
			} {
				who := caller
				change(&who)
				c := from(who, web)
				for _, rule := range []string{"files.outside", "files.other"} {
					if got := b.approved(c, taught(c, func(d *holdgate.Decision) { d.Rule = rule }), "ana"); got.Outcome.Grant != "" {
						t.Fatalf("one approval each, and it is learned: %+v", b.grant(got.Outcome.Grant))
					}
				}
			}
			b.close()
		})
	})
	t.Run("those of long ago", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			for range 4 {
				if got := b.approved(web, taught(web), "ana"); got.Outcome.Grant != "" {
					t.Fatal("three approvals in more than a day, and it is learned")
				}
				time.Sleep(13 * time.Hour)
			}
			b.close()
		})
	})
	t.Run("those of a time that the clock says is to come", func(t *testing.T) {
		dir := t.TempDir()
		in := func(do func(b *bench)) { // each bubble begins at the same time
			synctest.Test(t, func(t *testing.T) {
				b := &bench{t: t, dir: dir, people: team(t)}
				b.open()
				do(b)
				b.close()
			})
		}
		in(func(b *bench) {
			time.Sleep(time.Hour)
			for range 2 {
				b.approved(web, taught(web), "ana")
			}
		})
		in(func(b *bench) { b.learned() })
	})
	t.Run("silence that approves", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			silent := func(d *holdgate.Decision) {
				d.Hold.OnTimeout, d.Hold.Timeout = holdgate.TimeoutApprove, time.Minute
			}
			for range 5 {
				r := b.asks(web, taught(web, silent))
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if got := b.request(r.ID); got.Status != holdgate.StatusApproved || got.Outcome.Grant != "" {
					t.Fatalf("%s, grant %q", got.Status, got.Outcome.Grant)
				}
			}
			if b.released(web, taught(web)) {
				t.Error("released")
			}
			b.close()
		})
	})
	t.Run("it ends with its time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			g := b.learned()
			time.Sleep(time.Until(g.ExpiresAt) - time.Second)
			if !b.released(web, taught(web)) {
				t.Error("it has ended too soon")
			}
			time.Sleep(time.Hour)
			if b.released(web, taught(web)) {
				t.Error("it was used after its time")
			}
			if got := b.approved(web, taught(web), "ana"); got.Outcome.Grant != "" {
				t.Error("approvals of long ago count")
			}
			b.close()
		})
	})
}

// Where a call can do anything by its arguments, only the very same is like it.
func TestOfAToolThatActsOnlyTheSameCallIsLearned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		note, other := call("add_note", args{"text": "stand-up at nine"}), call("add_note", args{"text": "delete everything"})
		for range 2 {
			b.approved(note, taught(note), "ana")
			b.approved(other, taught(other), "ana")
		}
		if b.released(note, taught(note)) {
			t.Fatal("approvals of two calls were counted as of one")
		}
		b.approved(note, taught(note), "ana")
		if !b.released(note, taught(note)) || b.released(other, taught(other)) {
			t.Error("want the one learned, and the other not")
		}
		b.close()
	})
}
