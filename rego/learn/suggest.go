package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
)

// DefaultAtLeast is how many questions a suggestion must spare where nobody says.
const DefaultAtLeast = 3

// suggestable are the shipped pack's rules of which exceptions may be suggested:
// those that ask because of what a call touches, and, true, those that ask about
// the tool itself. Rules of the user's own are suggestable too. What guards
// sessions, secrets, commands, the network and Holdgate itself is not.
var suggestable = map[string]bool{
	"files.outside": false, "files.delete": false, "sql.change": false,
	"tools.setting": true, "tools.unknown": true, "tools.hinted": true,
}

// guarded are categories whose calls are never passed by what was learned.
var guarded = map[string]bool{"exec": true, "network": true, "spawn": true, "message": true}

// A Suggestion is an exception that would have spared people questions.
type Suggestion struct {
	Exception rego.Exception `json:"exception"`
	// Spares is how many questions it would have spared, together with the others
	// of the list where a call needs several; all of them people approved.
	Spares int `json:"spares"`
	// WholeTool says that it is about the tool itself, so that it covers calls of
	// it with other arguments, as far as no other rule asks about them.
	WholeTool bool      `json:"whole_tool,omitempty"`
	By        []string  `json:"by"` // who approved
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	// Example is a call that it spares: the number of its entry in the log.
	Example uint64 `json:"example"`
	// Input is what policy saw of the example.
	Input any `json:"-"`
}

// Suggestions are what the log suggests.
type Suggestions struct {
	Revision  string       `json:"revision"`
	Questions int          `json:"questions"` // that people were asked in the time
	Approved  int          `json:"approved"`  // of them
	Commands  int          `json:"commands"`  // of the approved, those that run programs: nothing is suggested for them
	Spares    int          `json:"spares"`    // how many all suggestions together would have spared
	Denied    int          `json:"denied"`    // calls of the whole log that were denied, which none of them lets pass
	Unknown   int          `json:"unknown"`   // of these, how many can't be judged again; nothing is suggested for their tools
	List      []Suggestion `json:"suggestions"`
}

// SuggestOptions say what to look at.
type SuggestOptions struct {
	Own     rego.Own
	Since   time.Time // questions before count for nothing; denials always count
	AtLeast int       // DefaultAtLeast where 0
}

// Suggest finds exceptions that would have spared people the most questions. It
// suggests none that would let pass any call of the log that policy or a person
// has denied, steered or edited, or that nobody answered: each is judged again
// with all suggestions in force. Nor any for calls that run a program, reach
// the network, hold what is not known before it runs or a secret, touch what
// decides over the agent, are at a gate, need a person by rule, or are critical.
func Suggest(ctx context.Context, e *rego.Engine, log Log, o SuggestOptions) (Suggestions, error) {
	if o.AtLeast <= 0 {
		o.AtLeast = DefaultAtLeast
	}
	g := gathering{o: o, asked: map[string]audit.Entry{}, ended: map[string]holdgate.Outcome{}, refused: map[string]audit.Entry{}}
	if err := log(ctx, g.add); err != nil {
		return Suggestions{}, err
	}
	s := suggesting{engine: e, o: o, blocked: map[string]bool{}, things: map[string]map[string]bool{}}
	s.out = Suggestions{Revision: e.Loaded().Revision, List: []Suggestion{}}
	g.split(&s)
	if err := s.explain(ctx); err != nil {
		return s.out, err
	}
	return s.out, s.try(ctx)
}

// A gathering is what is kept of a log on the way through it.
type gathering struct {
	o       SuggestOptions
	asked   map[string]audit.Entry      // by request
	ended   map[string]holdgate.Outcome // by request
	refused map[string]audit.Entry      // what policy refused, each call once
}

func (g *gathering) add(n audit.Entry) error {
	switch {
	case n.Type == audit.TypeOutcome && n.Outcome != nil:
		g.ended[n.RequestID] = *n.Outcome
	case !Judged(n) || n.Type == audit.TypeGranted:
	case n.RequestID != "":
		g.asked[n.RequestID] = n
	case acted(n.Decision.Action, n.Decision.Would) == holdgate.Deny.String() && !byHoldgate(n):
		g.refused[strings.Join([]string{n.Call.Agent, n.Call.Session, n.Call.Name(), string(n.Input), string(n.Seen)}, "\x00")] = n
	}
	return nil
}

// split tells what was approved from what was not.
func (g *gathering) split(s *suggesting) {
	for _, id := range slices.Sorted(maps.Keys(g.asked)) {
		n := g.asked[id]
		o, over := g.ended[id]
		counts := !n.Time.Before(g.o.Since)
		if counts {
			s.out.Questions++
		}
		switch {
		case !over || o.Decision == holdgate.AnswerCancel:
		case o.Decision == holdgate.AnswerApprove && o.By != "" && o.By != byPolicy && o.By != byItself:
			if counts {
				s.out.Approved++
				s.approved = append(s.approved, question{entry: n, by: o.By})
			}
		default:
			s.denied = append(s.denied, question{entry: n})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(g.refused)) {
		s.denied = append(s.denied, question{entry: g.refused[k]})
	}
	slices.SortFunc(s.approved, func(a, b question) int { return cmp.Compare(a.entry.Seq, b.entry.Seq) })
	s.out.Denied = len(s.denied)
}

// Who ends a request besides people.
const (
	byPolicy = "policy"
	byItself = "holdgate"
)

// A question is a past call with what rules say of it.
type question struct {
	entry audit.Entry
	by    string
	past  rego.Past
	x     rego.Explanation
	known bool
}

// suggesting is the way to suggestions.
type suggesting struct {
	engine   *rego.Engine
	o        SuggestOptions
	out      Suggestions
	approved []question
	denied   []question
	blocked  map[string]bool            // tools of which nothing is suggested
	things   map[string]map[string]bool // what candidates are about, by [key]
	agents   map[string]map[string]bool // who asked, by [key]
}

// key names a candidate: a rule and a tool.
func key(rule, tool string) string { return rule + "\x00" + tool }

// toolOf is the tool as exceptions name it; empty for what is no tool call.
func toolOf(n audit.Entry) string {
	if n.Call.Tool == nil {
		return ""
	}
	return n.Call.Name()
}

// explain finds out what rules say of each question, and makes candidates of it.
func (s *suggesting) explain(ctx context.Context) error {
	judge := func(list []question) error {
		for i := range list {
			q := &list[i]
			q.past = PastOf(q.entry, s.o.Own)
			x, err := s.engine.Explain(ctx, q.past, false)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if _, unjudged := errors.AsType[*rego.UnjudgedError](err); err != nil && !unjudged {
				return err
			}
			q.x, q.known = x, err == nil
		}
		return nil
	}
	if err := errors.Join(judge(s.approved), judge(s.denied)); err != nil {
		return err
	}
	for _, q := range s.denied {
		if !q.known {
			s.out.Unknown++
			s.blocked[toolOf(q.entry)] = true
		}
	}
	for _, q := range s.approved { // what people must see stays with them too
		if q.known && q.x.Decision.Facts != nil && len(q.x.Decision.Facts.Commands) > 0 {
			s.out.Commands++
		}
		if q.known && (q.x.Decision.Facts == nil || !Plain(*q.x.Decision.Facts)) {
			s.denied = append(s.denied, q)
		}
	}
	s.agents = map[string]map[string]bool{}
	for _, q := range s.approved {
		if !s.eligible(q) {
			continue
		}
		for _, f := range asking(q.x) {
			k := key(f.Rule, toolOf(q.entry))
			if s.things[k] == nil {
				s.things[k], s.agents[k] = map[string]bool{}, map[string]bool{}
			}
			s.agents[k][q.entry.Call.Agent] = true
			for _, thing := range f.About {
				s.things[k][thing] = true
			}
		}
	}
	for _, q := range s.denied { // what was denied of a thing stays with people
		for _, f := range q.x.Fired {
			for _, thing := range f.About {
				delete(s.things[key(f.Rule, toolOf(q.entry))], thing)
			}
		}
	}
	return nil
}

// asking are the rules that ask about a call and count.
func asking(x rego.Explanation) []rego.Fired {
	var list []rego.Fired
	for _, f := range x.Fired {
		if f.Lifted == "" && !f.Observes && f.Action != holdgate.Allow.String() {
			list = append(list, f)
		}
	}
	return list
}

// eligible reports whether anything may be suggested for such a call.
func (s *suggesting) eligible(q question) bool {
	c := q.past.Call
	if !q.known || c.Kind != holdgate.KindToolCall || c.Tool == nil || s.blocked[toolOf(q.entry)] || q.x.Decision.Facts == nil || !Plain(*q.x.Decision.Facts) {
		return false
	}
	rules := asking(q.x)
	for _, f := range rules {
		own := f.Location != "" && !strings.HasPrefix(f.Location, rego.PackLocation)
		switch {
		case f.Action != holdgate.Hold.String(), f.Required, f.Choice, f.Gate != "", len(f.About) == 0, f.Risk == string(holdgate.RiskCritical):
			return false
		}
		aboutTool, known := suggestable[f.Rule]
		if !known && (!own || packPrefix(f.Rule)) || !aboutTool && slices.Contains(f.About, toolOf(q.entry)) {
			return false
		}
	}
	return len(rules) > 0
}

// packPrefix reports whether a rule calls itself like one of the pack's that is
// never lifted.
func packPrefix(rule string) bool {
	family, _, _ := strings.Cut(rule, ".")
	switch family {
	case "confidence", "git", "http", "mcp", "mode", "model", "network", "packages", "persistence", "production", "publish", "results",
		"secrets", "self_approval", "session", "shell", "text", "gate", "kind":
		return true
	}
	return rule == "tools.changed" || rule == "tools.unreadable" || rule == "files.misleading" || rule == "files.system" || rule == "sql.destroy" || rule == "sql.unseen"
}

// Plain reports whether facts are of a call that does nothing but read, write or
// delete what it names: no program, no host, nothing that is known at run time
// only, no secret, nothing that decides over the agent.
func Plain(f holdgate.Facts) bool {
	if guarded[f.Category] || len(f.Commands)+len(f.URLs)+len(f.Secrets)+len(f.ParseErrors)+len(f.SuspiciousText) > 0 || f.Impact.More {
		return false
	}
	return !slices.ContainsFunc(f.Paths, func(p holdgate.Path) bool { return p.Self || p.Class != "" })
}

// candidates are the exceptions that the approved questions ask for.
func (s *suggesting) candidates() []rego.Exception {
	var list []rego.Exception
	for _, k := range slices.Sorted(maps.Keys(s.things)) {
		if len(s.things[k]) == 0 {
			continue
		}
		rule, tool, _ := strings.Cut(k, "\x00")
		x := rego.Exception{Rule: rule, Match: rego.ExceptionMatch{Tool: tool, About: slices.Sorted(maps.Keys(s.things[k]))}, Reason: "People always approved it."}
		if agents := slices.Collect(maps.Keys(s.agents[k])); len(agents) == 1 {
			x.Match.Agent = agents[0]
		}
		list = append(list, x)
	}
	return list
}

// try judges everything again with the candidates in force, and drops those that
// would let a denied call pass or spare too little, until none does.
func (s *suggesting) try(ctx context.Context) error {
	for {
		list := s.candidates()
		if len(list) == 0 {
			s.out.List, s.out.Spares = []Suggestion{}, 0
			return nil
		}
		with, err := s.engine.With(ctx, list)
		if err != nil {
			return err
		}
		dropped, err := s.dropLoosening(ctx, with)
		if err != nil {
			return err
		}
		if dropped {
			continue
		}
		if dropped, err = s.count(ctx, with, list); err != nil || !dropped {
			return err
		}
	}
}

// dropLoosening drops the candidates that have let a denied call pass.
func (s *suggesting) dropLoosening(ctx context.Context, with *rego.Engine) (dropped bool, err error) {
	for _, q := range s.denied {
		if !q.known || q.x.Decision.Action == holdgate.Allow {
			continue // nothing that is suggested lets it pass
		}
		d, err := with.Again(ctx, q.past)
		if err != nil {
			return false, fmt.Errorf("judging entry %d again: %w", q.entry.Seq, err)
		}
		if d.Action != holdgate.Allow {
			continue
		}
		for _, f := range q.x.Fired {
			k := key(f.Rule, toolOf(q.entry))
			if _, ok := s.things[k]; ok {
				delete(s.things, k)
				dropped = true
			}
		}
		if !dropped {
			return false, fmt.Errorf("judging entry %d again: it passes, and no suggestion is known to let it", q.entry.Seq)
		}
	}
	return dropped, nil
}

// count finds what each candidate spares, and drops those that spare too little.
func (s *suggesting) count(ctx context.Context, with *rego.Engine, list []rego.Exception) (dropped bool, err error) {
	found := make([]Suggestion, len(list))
	total := 0
	for _, q := range s.approved {
		if !s.eligible(q) {
			continue
		}
		d, err := with.Again(ctx, q.past)
		if err != nil {
			return false, fmt.Errorf("judging entry %d again: %w", q.entry.Seq, err)
		}
		if d.Action != holdgate.Allow {
			continue
		}
		total++
		for _, f := range asking(q.x) {
			for i, x := range list {
				if x.Rule == f.Rule && x.Match.Tool == toolOf(q.entry) {
					found[i].spared(q)
				}
			}
		}
	}
	for i, x := range list {
		if found[i].Spares < s.o.AtLeast {
			delete(s.things, key(x.Rule, x.Match.Tool))
			dropped = true
		}
		found[i].Exception, found[i].WholeTool = x, slices.Contains(x.Match.About, x.Match.Tool)
		found[i].Exception.Reason = fmt.Sprintf("People approved it %d times since %s, and never denied it.", found[i].Spares, found[i].First.Format(time.DateOnly))
	}
	if dropped {
		return true, nil
	}
	slices.SortStableFunc(found, func(a, b Suggestion) int { return b.Spares - a.Spares })
	s.out.List, s.out.Spares = found, total
	return false, nil
}

// spared counts a question.
func (s *Suggestion) spared(q question) {
	if s.Spares++; s.Spares == 1 {
		s.First, s.Example, s.Input = q.entry.Time, q.entry.Seq, q.x.Input
	}
	s.Last = q.entry.Time
	for name := range strings.SplitSeq(q.by, ", ") {
		if !slices.Contains(s.By, name) {
			s.By = append(s.By, name)
		}
	}
}

// Tests are tests in Rego that hold once the suggestions are in the settings, one
// for each: its example is not asked about.
func (s Suggestions) Tests() (string, error) {
	var b strings.Builder
	b.WriteString("package holdgate.custom.suggested_test\n")
	for i, x := range s.List {
		input, err := json.MarshalIndent(x.Input, "", "\t")
		if err != nil {
			return "", fmt.Errorf("writing a test: %w", err)
		}
		fmt.Fprintf(&b, "\n# %s of %s: entry %d of the log.\n", ascii(x.Exception.Rule), ascii(x.Exception.Match.Tool), x.Example)
		fmt.Fprintf(&b, "test_suggested_%d if data.holdgate.decision.action == \"allow\" with input as %s\n", i+1, input)
	}
	return b.String(), nil
}

// ascii is a text for a comment, on one line whatever it holds.
func ascii(s string) string { return strings.Trim(strconv.QuoteToASCII(s), `"`) }
