package rego

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
	"github.com/holdgate/holdgate/rego/facts/secrets"
	"github.com/holdgate/holdgate/rego/ruleset"
)

// Parts of input that the log may lack: what may be secret, and what a policy
// that reads none of it was not told.
const (
	partTools       = "model.tools"
	partServerTools = "model.server_tools"
	partParams      = "mcp.params"
	partQuery       = "http.query"
	partHistory     = "history"
	partUsage       = "usage"
	partRepeats     = "session.repeats"
)

// readsParts says which of these parts a policy reads.
func (p *policy) readsParts(modules map[string]*ast.Module) map[string]bool {
	found := map[string]bool{partHistory: p.readsHistory, partUsage: p.readsUsage, partRepeats: p.readsRepeats}
	for _, part := range []string{partTools, partServerTools, partParams, partQuery} {
		found[part] = ruleset.Reads(modules, strings.Split(part, ".")...)
	}
	return found
}

// seenVersion is that of what is written here. Another one is not read.
const seenVersion = 1

// seenCall is what policy saw of a call besides its arguments, as the audit log
// keeps it, so that the call can be judged again. Facts are not in it: they are
// worked out again, and their digest says whether they are the same. Nor is
// what may be secret: Missing names it. The fields stand in the order of their
// JSON names, which is the log's canonical form.
type seenCall struct {
	Agent      seenAgent       `json:"agent"`
	Answers    []seenAnswer    `json:"answers,omitempty"`
	Confidence *seenConfidence `json:"confidence,omitempty"`
	Dir        string          `json:"dir,omitempty"`
	Edited     bool            `json:"edited,omitempty"`
	Facts      string          `json:"facts,omitempty"` // see factsDigest; empty where something is hidden
	From       string          `json:"from,omitempty"`
	FromServer bool            `json:"from_server,omitempty"`
	Gates      *seenGates      `json:"gates,omitempty"`
	// Hidden says that the decision redacted something, so that the log has not
	// all of the call.
	Hidden    bool         `json:"hidden,omitempty"`
	History   *seenHistory `json:"history,omitempty"`
	Home      string       `json:"home,omitempty"`
	HTTP      *seenHTTP    `json:"http,omitempty"`
	Learned   *seenLearned `json:"learned,omitempty"`
	LooksLike string       `json:"looks_like,omitempty"`
	MCPAnswer bool         `json:"mcp_answer,omitempty"`
	MCPName   string       `json:"mcp_name,omitempty"`
	Missing   []string     `json:"missing,omitempty"` // parts of input that are not kept, as partQuery
	Mode      string       `json:"mode,omitempty"`
	Model     *seenModel   `json:"model,omitempty"`
	Repeats   int          `json:"repeats,omitempty"`
	Result    bool         `json:"result,omitempty"` // it was about what the call brought
	Scheme    string       `json:"scheme,omitempty"`
	Taint     []string     `json:"taint,omitempty"`
	Threshold float64      `json:"threshold,omitempty"`
	Usage     *seenUsage   `json:"usage,omitempty"`
	V         int          `json:"v"`
}

type seenAgent struct {
	Confinement string            `json:"confinement,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Proven      bool              `json:"proven,omitempty"`
	holdgate.Proofs
}

type seenAnswer struct {
	Also     []string        `json:"also,omitempty"`
	By       string          `json:"by"`
	Choice   string          `json:"choice,omitempty"`
	Decision holdgate.Answer `json:"decision"`
	Gate     string          `json:"gate,omitempty"`
	Rule     string          `json:"rule"`
}

type seenConfidence struct {
	Reasons []string       `json:"reasons,omitempty"`
	Score   float64        `json:"score"`
	Source  string         `json:"source,omitempty"`
	Tools   *seenEnded     `json:"tools,omitempty"`
	Work    map[string]any `json:"work,omitempty"`
}

type seenEnded struct {
	Failed    int `json:"failed,omitempty"`
	Succeeded int `json:"succeeded,omitempty"`
}

type seenGates struct {
	Needed []string        `json:"needed,omitempty"`
	On     []string        `json:"on,omitempty"`
	Passed []string        `json:"passed,omitempty"`
	Told   []string        `json:"told,omitempty"`
	When   map[string]When `json:"when,omitempty"`
}

type seenHistory struct {
	Allowed   int `json:"allowed,omitempty"`
	Approved  int `json:"approved,omitempty"`
	Asked     int `json:"asked,omitempty"`
	Denied    int `json:"denied,omitempty"`
	Expired   int `json:"expired,omitempty"`
	Failed    int `json:"failed,omitempty"`
	Refused   int `json:"refused,omitempty"`
	Steered   int `json:"steered,omitempty"`
	Succeeded int `json:"succeeded,omitempty"`
}

type seenHTTP struct {
	Action     string   `json:"action,omitempty"`
	Operation  string   `json:"operation,omitempty"`
	Override   string   `json:"override,omitempty"`
	Unresolved []string `json:"unresolved,omitempty"`
	Upgrade    string   `json:"upgrade,omitempty"`
}

type seenLearned struct {
	Changed    bool            `json:"changed,omitempty"`
	Configured bool            `json:"configured,omitempty"`
	Hints      map[string]bool `json:"hints,omitempty"`
	Misfits    []string        `json:"misfits,omitempty"`
	Reads      bool            `json:"reads,omitempty"`
	Remote     bool            `json:"remote,omitempty"`
	Schema     holdgate.Fit    `json:"schema,omitempty"`
	Server     string          `json:"server"`
	Shadows    []string        `json:"shadows,omitempty"`
	Tool       string          `json:"tool"`
}

type seenModel struct {
	Host        string           `json:"host,omitempty"`
	HostKnown   bool             `json:"host_known,omitempty"`
	Provider    string           `json:"provider,omitempty"`
	ServerTools []seenServerTool `json:"server_tools,omitempty"`
	Stream      bool             `json:"stream,omitempty"`
	Tools       []string         `json:"tools,omitempty"`
	Unapproved  []seenUnapproved `json:"unapproved,omitempty"`
}

type seenServerTool struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type"`
}

type seenUnapproved struct {
	ID   string `json:"id,omitempty"`
	Tool string `json:"tool,omitempty"`
	Why  string `json:"why"`
}

type seenUsage struct {
	Answers        int     `json:"answers,omitempty"`
	CallsPerMinute int     `json:"calls_per_minute,omitempty"`
	Cost           float64 `json:"cost,omitempty"`
	Input          int64   `json:"input_tokens,omitempty"`
	Metered        int     `json:"metered,omitempty"`
	Output         int64   `json:"output_tokens,omitempty"`
	Priced         int     `json:"priced,omitempty"`
}

// seen writes what policy saw; nil where it cannot be written.
func (p *policy) seen(in Input, f facts.Facts, d holdgate.Decision) json.RawMessage {
	s := seenCall{
		V: seenVersion, Agent: seenAgent{in.Call.Agent.Confinement, in.Call.Agent.Labels, in.Call.Agent.Proven, in.Call.Agent.Proofs},
		Dir: in.Dir, From: in.From, Home: in.Home, Edited: in.Edited, Mode: in.Mode, Repeats: in.Repeats, Taint: in.Taint, Threshold: in.Threshold,
		Hidden: len(d.Redact) > 0, Result: in.Call.Result != nil,
	}
	for _, a := range in.Answers {
		s.Answers = append(s.Answers, seenAnswer{a.Also, a.By, a.Choice, a.Decision, a.Gate, a.Rule})
	}
	if g := in.Gates; len(g.On)+len(g.Needed)+len(g.Passed)+len(g.Told)+len(g.When) > 0 {
		s.Gates = &seenGates{g.Needed, g.On, g.Passed, g.Told, g.When}
	}
	if h := in.History; h != nil {
		s.History = &seenHistory{h.Allowed, h.Approved, h.Asked, h.Denied, h.Expired, h.Failed, h.Refused, h.Steered, h.Succeeded}
	}
	if u := in.Usage; u != nil {
		s.Usage = &seenUsage{u.Answers, u.CallsPerMinute, u.Cost, u.Input, u.Metered, u.Output, u.Priced}
	}
	if c := in.Confidence; c != nil {
		s.Confidence = &seenConfidence{Reasons: concealed(c.Reasons), Score: c.Score, Source: c.Source, Work: c.Work}
		if t := c.Tools; t != nil {
			s.Confidence.Tools = &seenEnded{t.Failed, t.Succeeded}
		}
	}
	s.miss(!p.readsHistory, partHistory)
	s.miss(!p.readsUsage, partUsage)
	s.miss(!p.readsRepeats, partRepeats)
	s.call(in.Call, p)
	if !s.Hidden {
		s.Facts = factsDigest(in.Call, f)
	}
	return s.json()
}

// concealed are an agent's words without credentials.
func concealed(words []string) []string {
	kept := make([]string, len(words))
	for i, w := range words {
		kept[i] = secrets.Conceal(w, nil)
	}
	return kept
}

// json is the canonical form.
func (s *seenCall) json() json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return nil
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// call writes what is not in the log of the call itself.
func (s *seenCall) call(c holdgate.Call, p *policy) {
	if c.Tool != nil && c.Tool.Learned != nil {
		l := c.Tool.Learned
		s.Learned = &seenLearned{l.Changed, l.Configured, l.Hints, l.Misfits, l.Reads, l.Remote, l.Schema, l.Server, l.Shadows, l.Tool}
	}
	if m := c.Model; m != nil {
		s.Model = &seenModel{Host: m.Host, HostKnown: m.HostKnown, Provider: m.Provider, Stream: m.Stream}
		if p.reads[partTools] {
			s.Model.Tools = m.Tools
		} else {
			s.miss(len(m.Tools) > 0, partTools)
		}
		for _, t := range m.ServerTools {
			s.Model.ServerTools = append(s.Model.ServerTools, seenServerTool{t.Name, t.Type})
			s.miss(t.URL != "", partServerTools)
		}
		for _, u := range m.Unapproved {
			s.Model.Unapproved = append(s.Model.Unapproved, seenUnapproved{u.ID, u.Tool, u.Why})
		}
	}
	if m := c.MCP; m != nil {
		s.FromServer, s.MCPAnswer = m.FromServer, m.Answer
		if !s.Hidden { // a resource's address may hold what is hidden
			s.MCPName = m.Name
		}
		s.miss(m.Params != nil, partParams)
	}
	if h := c.HTTP; h != nil {
		s.Scheme, s.LooksLike = h.Scheme, h.LooksLike
		s.HTTP = &seenHTTP{h.Action, cmp.Or(h.Operation, p.operation(h)), h.MethodOverride, h.Unresolved, h.Upgrade}
		s.miss(h.Query != "", partQuery)
	}
}

// Operation is what the request was called.
func (s *seenCall) operation() string {
	if s.HTTP == nil {
		return ""
	}
	return s.HTTP.Operation
}

func (s *seenCall) miss(is bool, path string) {
	if is {
		s.Missing = append(s.Missing, path)
	}
}

// factsDigest names the facts of a call, but for the category, which the
// settings may say. It is empty for calls of which there are none.
func factsDigest(c holdgate.Call, f facts.Facts) string {
	if c.Tool == nil && c.HTTP == nil {
		return ""
	}
	f.Category = ""
	raw, err := json.Marshal(f)
	if err != nil {
		return "-" // names no facts
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// input is what policy would see of the call now.
func (s *seenCall) input(c holdgate.Call, own Own) Input {
	c.Agent.Proven, c.Agent.Confinement, c.Agent.Labels, c.Agent.Proofs = s.Agent.Proven, s.Agent.Confinement, s.Agent.Labels, s.Agent.Proofs
	if l := s.Learned; l != nil && c.Tool != nil {
		t := *c.Tool
		t.Learned = &holdgate.Learned{Changed: l.Changed, Configured: l.Configured, Hints: l.Hints, Misfits: l.Misfits, Reads: l.Reads, Remote: l.Remote,
			Schema: l.Schema, Server: l.Server, Shadows: l.Shadows, Tool: l.Tool}
		c.Tool = &t
	}
	if m := s.Model; m != nil && c.Model != nil {
		o := holdgate.Model{Name: c.Model.Name, Host: m.Host, HostKnown: m.HostKnown, Provider: m.Provider, Stream: m.Stream, Tools: m.Tools}
		for _, t := range m.ServerTools {
			o.ServerTools = append(o.ServerTools, holdgate.ServerTool{Type: t.Type, Name: t.Name})
		}
		for _, u := range m.Unapproved {
			o.Unapproved = append(o.Unapproved, holdgate.Unapproved{ID: u.ID, Tool: u.Tool, Why: u.Why})
		}
		c.Model = &o
	}
	if c.MCP != nil {
		o := *c.MCP
		o.FromServer, o.Answer, o.Name = s.FromServer, s.MCPAnswer, s.MCPName
		c.MCP = &o
	}
	if c.HTTP != nil {
		o := *c.HTTP
		o.Scheme, o.LooksLike = s.Scheme, s.LooksLike
		if h := s.HTTP; h != nil {
			o.Action, o.MethodOverride, o.Unresolved, o.Upgrade = h.Action, h.Override, h.Unresolved, h.Upgrade
		}
		c.HTTP = &o
	}
	in := Input{Call: c, Own: own, Dir: s.Dir, From: s.From, Home: s.Home, Edited: s.Edited, Mode: s.Mode, Repeats: s.Repeats, Taint: s.Taint, Threshold: s.Threshold}
	for _, a := range s.Answers {
		in.Answers = append(in.Answers, Answer{Also: a.Also, By: a.By, Choice: a.Choice, Decision: a.Decision, Gate: a.Gate, Rule: a.Rule})
	}
	if g := s.Gates; g != nil {
		in.Gates = Gates{On: g.On, Needed: g.Needed, Passed: g.Passed, Told: g.Told, When: g.When}
	}
	if h := s.History; h != nil {
		in.History = &History{Allowed: h.Allowed, Refused: h.Refused, Asked: h.Asked, Approved: h.Approved, Denied: h.Denied, Steered: h.Steered, Expired: h.Expired, Succeeded: h.Succeeded, Failed: h.Failed}
	}
	if u := s.Usage; u != nil {
		in.Usage = &Usage{holdgate.Usage{Answers: u.Answers, Metered: u.Metered, Priced: u.Priced, Input: u.Input, Output: u.Output, Cost: u.Cost}, u.CallsPerMinute}
	}
	if c := s.Confidence; c != nil {
		in.Confidence = &Confidence{Reasons: c.Reasons, Score: c.Score, Source: c.Source, Work: c.Work}
		if t := c.Tools; t != nil {
			in.Confidence.Tools = &Ended{Succeeded: t.Succeeded, Failed: t.Failed}
		}
	}
	return in
}

// A Past is a call as the audit log has it.
type Past struct {
	Call holdgate.Call   // Time is when it was decided
	Seen json.RawMessage // of the decision: [holdgate.Decision.Seen]
	Own  Own             // what is Holdgate's own here
}

// FollowsUp reports whether the decision followed an answer of people to an
// earlier question about the same call.
func (p Past) FollowsUp() bool {
	s, err := p.read()
	return err == nil && len(s.Answers) > 0
}

func (p Past) read() (seenCall, error) {
	var s seenCall
	switch {
	case len(p.Seen) == 0:
		return s, &UnjudgedError{"the log does not say what policy saw"}
	case json.Unmarshal(p.Seen, &s) != nil || s.V != seenVersion:
		return s, &UnjudgedError{"what policy saw was written by another version"}
	}
	return s, nil
}

// An UnjudgedError says why a past call can't be judged again exactly.
type UnjudgedError struct{ Why string }

func (e *UnjudgedError) Error() string { return "it cannot be judged again: " + e.Why }

// rebuilt is what policy would see of the call now, with its facts. The error is
// an [*UnjudgedError] where that is not all that there was.
func (p *policy) rebuilt(past Past, extract func(Input) facts.Facts) (Input, facts.Facts, error) {
	var none facts.Facts
	unjudged := func(format string, args ...any) (Input, facts.Facts, error) {
		return Input{}, none, &UnjudgedError{fmt.Sprintf(format, args...)}
	}
	s, err := past.read()
	if err != nil {
		return Input{}, none, err
	}
	c := past.Call
	switch {
	case s.Result:
		return unjudged("it is about a result, and the log has none")
	case c.Kind == holdgate.KindGate || c.Kind == holdgate.KindMessage:
		return unjudged("the log does not have what the agent said")
	case s.Hidden:
		return unjudged("policy redacted a part of it")
	case c.Tool != nil && c.Tool.Arguments == nil:
		return unjudged("the log does not have its arguments")
	case c.Tool == nil && c.Model == nil && c.MCP == nil && c.HTTP == nil:
		return unjudged("the log does not say what was called")
	}
	for _, part := range s.Missing {
		if p.reads[part] {
			return unjudged("the policy reads input.%s, which the log does not have", part)
		}
	}
	in := s.input(c, past.Own)
	if h := in.Call.HTTP; h != nil && slices.Contains(s.Missing, partQuery) && p.operation(h) != s.operation() {
		return unjudged("its operation depends on its query, which the log does not have")
	}
	f := extract(in)
	if s.Facts != factsDigest(c, f) {
		return unjudged("its facts cannot be worked out as they were")
	}
	return in, f, nil
}
