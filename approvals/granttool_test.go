package approvals_test

import (
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
)

// told is a call of a tool whose server has said what it is.
func told(arguments args, edits ...func(*holdgate.Learned)) holdgate.Call {
	c := call("frob", arguments)
	l := &holdgate.Learned{Server: "files", Tool: "frob", Definition: "d1", Configured: true, Schema: holdgate.FitWhole, Is: &holdgate.Definition{Name: "frob"}}
	for _, edit := range edits {
		edit(l)
	}
	tool := *c.Tool
	tool.Server, tool.Learned = "files", l
	c.Tool = &tool
	return c
}

// aboutTool asks about the tool itself.
func aboutTool(d *holdgate.Decision) { d.Hold.Tool = true }

func TestAGrantForAToolItself(t *testing.T) {
	t.Parallel()
	first := told(args{"level": 1})
	with := func(edit func(*holdgate.Learned)) holdgate.Call { return told(args{"note": "x"}, edit) }
	inAnswer := told(args{"level": 2})
	inAnswer.Tool.Name, inAnswer.Tool.Server = "mcp__files__frob", ""
	tests := []struct {
		name  string
		first holdgate.Call
		later holdgate.Call
		edit  func(*holdgate.Decision)
		want  bool
	}{
		{"other arguments", first, told(args{"note": "x"}), aboutTool, true},
		{"in a model's answer", first, inAnswer, aboutTool, true},
		{"arguments that do not fit", first, with(func(l *holdgate.Learned) { l.Schema = holdgate.FitNot }), aboutTool, false},
		{"arguments of which nobody knows, named otherwise", first, with(func(l *holdgate.Learned) { l.Schema = holdgate.FitUnchecked }), aboutTool, false},
		{"arguments of which nobody knows, named alike", first, told(args{"level": 3}, func(l *holdgate.Learned) { l.Schema = "" }), aboutTool, true},
		{"another definition", first, with(func(l *holdgate.Learned) { l.Definition = "d2" }), aboutTool, false},
		{"a changed definition", first, with(func(l *holdgate.Learned) { l.Changed = true }), aboutTool, false},
		{"another tool", first, with(func(l *holdgate.Learned) { l.Tool = "other" }), aboutTool, false},
		{"another server", first, with(func(l *holdgate.Learned) { l.Server = "other" }), aboutTool, false},
		{"a server that an agent names", first, with(func(l *holdgate.Learned) { l.Configured = false }), aboutTool, false},
		{"a definition that could not be shown", first, with(func(l *holdgate.Learned) { l.Is = nil }), aboutTool, false},
		{"a command", first, told(args{"command": "ls"}), aboutTool, false},
		{"SQL", first, told(args{"sql": "select 1"}), aboutTool, false},
		{"another host", first, told(args{"at": "https://evil.example/"}), aboutTool, false},
		{"the same host", told(args{"at": "https://a.example/1"}), told(args{"at": "https://a.example/2"}), aboutTool, true},
		{"a file", first, told(args{"file": "src/a.go"}), aboutTool, false},
		{"a question about the call", first, told(args{"level": 2}), nil, false},
		{"a question of high risk", first, told(args{"level": 2}), func(d *holdgate.Decision) { aboutTool(d); d.Risk = holdgate.RiskHigh }, false},
		{"another question", first, told(args{"level": 2}), func(d *holdgate.Decision) { aboutTool(d); d.Rule = "another" }, false},
		{"a question for a person each time", first, told(args{"level": 2}), func(d *holdgate.Decision) { aboutTool(d); d.Hold.Required = true }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			g := b.granted(tt.first, seen(tt.first, dir, aboutTool), ofTool())
			if g.Match != record.MatchTool {
				t.Errorf("it is for %s", g.Match)
			}
			d := seen(tt.later, dir)
			if tt.edit != nil {
				tt.edit(&d)
			}
			if got := b.released(tt.later, d); got != tt.want {
				t.Errorf("released: %v, want %v", got, tt.want)
			}
		})
	}
}

// What else was asked at the same time is asked of each call.
func TestAGrantForAToolItselfSettlesNothingElse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := told(args{"level": 1})
	also := func(d *holdgate.Decision) {
		d.Also = []holdgate.Finding{{Rule: "other", Reason: "it may", Risk: holdgate.RiskMedium}}
	}
	g := b.granted(c, seen(c, dir, aboutTool, also), ofTool())
	if len(g.Also) > 0 {
		t.Errorf("it settles %v too", g.Also)
	}
}

func TestWhichToolsCannotBeRemembered(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		call holdgate.Call
		edit func(*holdgate.Decision)
		says string
	}{
		{"one that the question is not about", told(args{"level": 1}), func(d *holdgate.Decision) { d.Hold.Tool = false }, "only calls that read or write files"},
		{"one of which no server has said anything", call("frob", args{"level": 1}), nil, "only calls that read or write files"},
		{"one of a server that an agent names", told(args{"level": 1}, func(l *holdgate.Learned) { l.Configured = false }), nil, "only calls that read or write files"},
		{"one that runs a command", told(args{"command": "ls"}), nil, "only calls that read or write files"},
		{"one whose definition has changed", told(args{"level": 1}, func(l *holdgate.Learned) { l.Changed = true }), nil, "something else of the tool"},
		{"one of high risk", told(args{"level": 1}), risk(holdgate.RiskHigh), "the risk is high"},
		{"one of critical risk", told(args{"level": 1}), risk(holdgate.RiskCritical), "the risk is critical"},
		{"one with hidden parts", told(args{"level": 1}), func(d *holdgate.Decision) { d.Redact = []string{"/tool/arguments/level"} }, "hidden"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			d := seen(tt.call, dir, aboutTool)
			if tt.edit != nil {
				tt.edit(&d)
			}
			r := b.asks(tt.call, d)
			if r.AboutTool {
				t.Error("people are told that the tool can be remembered")
			}
			_, err := b.queue.Decide(t.Context(), r.ID, remembered(r, "ana", ofTool()))
			wantRefused(t, err, tt.says)
		})
	}
}
