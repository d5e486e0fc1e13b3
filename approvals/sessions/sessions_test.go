package sessions_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals/sessions"
)

var (
	auto   = sessions.Setting{Mode: sessions.ModeAuto}
	manual = sessions.Setting{Mode: sessions.ModeManual}
)

func line(t float64) sessions.Setting {
	return sessions.Setting{Mode: sessions.ModeThreshold, Threshold: t}
}

func TestAnAgentOnlyTightens(t *testing.T) {
	for _, c := range []struct {
		name     string
		has, own sessions.Setting
		want     error
	}{
		{"the same", auto, auto, nil},
		{"from auto to manual", auto, manual, nil},
		{"from auto to a line", auto, line(0.5), nil},
		{"from a line to a higher one", line(0.5), line(0.6), nil},
		{"from a line to a lower one", line(0.5), line(0.4), sessions.ErrLooser},
		{"from a line to the policy's, which may be lower", line(0.5), line(0), sessions.ErrLooser},
		{"from the policy's line to another, which may be lower", line(0), line(0.99), sessions.ErrLooser},
		{"from a line to manual", line(1), manual, nil},
		{"from manual to auto", manual, auto, sessions.ErrLooser},
		{"from manual to a line", manual, line(1), sessions.ErrLooser},
		{"to a mode that nobody knows", auto, sessions.Setting{Mode: "yolo"}, sessions.ErrSetting},
		{"to a line out of range", auto, line(1.5), sessions.ErrSetting},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, begin := range []bool{true, false} {
				r, first := sessions.New("a", "s", time.Now()), auto
				if begin {
					first = c.has
				} else if err := r.SetMode(c.has, "ana", time.Now()); err != nil {
					t.Fatal(err)
				}
				if err := r.Tighten(c.own, first); !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				want := c.own
				if c.want != nil {
					want = c.has
				}
				if got := r.Setting(first); got != want {
					t.Errorf("the mode is %+v, want %+v", got, want)
				}
			}
		})
	}
}

func TestAPersonLoosensWhatTheAgentTightened(t *testing.T) {
	r := sessions.New("a", "s", time.Now())
	if err := errors.Join(r.Tighten(manual, auto), r.SetMode(auto, "ana", time.Now())); err != nil {
		t.Fatal(err)
	}
	if got := r.Setting(manual); got != auto {
		t.Errorf("the mode is %+v, want what the person said", got)
	}
}

func TestFractions(t *testing.T) {
	for _, c := range []struct {
		in, want float64
		ok       bool
	}{{0, 0, true}, {0.85, 0.85, true}, {1, 1, true}, {1.5, 0.015, true}, {85, 0.85, true}, {100, 1, true}, {100.1, 0, false}, {-0.1, 0, false}} {
		got, err := sessions.Fraction("score", c.in)
		if (err == nil) != c.ok || got != c.want {
			t.Errorf("Fraction(%v) = %v, %v", c.in, got, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "score ") {
			t.Errorf("%q does not begin with the field", err)
		}
	}
}

func TestWhatAConfigurationSaysOfGates(t *testing.T) {
	no := false
	all, err := sessions.NewGates(map[string]sessions.Gate{
		"before_commit":   {Message: "Really?", Edits: &no},
		"legal":           {Level: sessions.Advisory},
		"intent_approval": {Sessions: []string{"work-*"}},
		"before_verify":   {Enabled: &no, Sessions: []string{"*"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	g := all.Of("before_commit")
	if g.Message != "Really?" || *g.Edits || g.Level != sessions.Mandatory || g.Required == nil || !*g.Required {
		t.Errorf("what is said lies over what is known: %+v", g)
	}
	if all.Of("legal").Level != sessions.Advisory || all.Of("other").Level != sessions.Mandatory {
		t.Error("types of the configuration's own, and those that nobody knows")
	}
	for id, want := range map[string]int{"work-1": 1, "play": 0} {
		if _, needed := all.On(id); len(needed) != want {
			t.Errorf("session %s needs %v", id, needed)
		}
	}
	for name, g := range map[string]sessions.Gate{"Bad Name": {}, "a": {Level: "grave"}, "b": {Show: []string{"all"}}, "c": {Sessions: []string{"["}}} {
		if _, err := sessions.NewGates(map[string]sessions.Gate{name: g}); err == nil {
			t.Errorf("%s: %+v is taken", name, g)
		}
	}
}

func TestAGateOfAllSessionsIsOfEveryName(t *testing.T) {
	all := sessions.Gates{sessions.GateIntent: {Sessions: []string{"*"}}, "code_review": {Sessions: []string{"work*"}}}
	for session, want := range map[string]int{"": 1, "play": 1, "a/b": 1, "/": 1, "work": 2, "work/1": 2, "a/work": 1} {
		if _, needed := all.On(session); len(needed) != want {
			t.Errorf("session %q must pass %q, want %d gates", session, needed, want)
		}
	}
	if !all.BindsAll(sessions.GateIntent) || all.BindsAll("code_review") {
		t.Error("the gate of all sessions is the first")
	}
}

func TestGatesThatWorkPassesAgainAndAgainDoNotStayPassed(t *testing.T) {
	all, err := sessions.NewGates(nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	r := sessions.New("a", "s", now)
	for _, g := range []string{"before_commit", "intent_approval"} {
		r.Pass(sessions.Passed{Gate: g, At: now, By: "ana"})
	}
	if got := all.Passed(r, now.Add(time.Minute)); len(got) != 2 {
		t.Errorf("after a minute: %v", got)
	}
	if got := all.Passed(r, now.Add(time.Hour)); len(got) != 1 || got[0] != "intent_approval" {
		t.Errorf("after an hour: %v", got)
	}
}

func TestTheStrictestModeOfAnAgentsSessionsCounts(t *testing.T) {
	early, late := time.Now().Add(-time.Hour), time.Now()
	set := func(id string, s sessions.Setting, at time.Time) *sessions.Record {
		r := sessions.New("a", id, early)
		r.Set, r.SetAt = s, at
		return r
	}
	none := sessions.Setting{}
	for _, c := range []struct {
		name        string
		own, others *sessions.Record
		begin, want sessions.Setting
	}{
		{"a new session beside a manual one", set("new", none, time.Time{}), set("o", manual, early), auto, manual},
		{"a new session beside a looser one", set("new", none, time.Time{}), set("o", auto, late), manual, manual},
		{"a person's later word", set("s", auto, late), set("o", manual, early), auto, auto},
		{"a person's earlier word", set("s", auto, early), set("o", manual, late), auto, manual},
		{"lines that cannot be compared", set("new", none, time.Time{}), set("o", line(0.95), late), line(0), manual},
		{"itself", set("s", auto, late), set("s", manual, late.Add(time.Hour)), auto, auto},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.own.SettingAmong([]*sessions.Record{c.others}, c.begin); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
