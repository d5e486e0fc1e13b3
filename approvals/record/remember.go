package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
)

const (
	// DefaultGrant is how long a grant lasts where nobody says.
	DefaultGrant = 8 * time.Hour
	// DefaultMaxGrant is how long a grant may last where no setting says.
	DefaultMaxGrant = 30 * 24 * time.Hour

	MinGrant      = time.Second
	MaxPointers   = 32
	MaxFixedBytes = 16 << 10 // pointers and values together
)

// ErrRemember says that an approval cannot be remembered as the voter asked.
var ErrRemember = errors.New("this cannot be remembered")

// Scope says whose calls a grant covers.
type Scope string

// The scopes.
const (
	ScopeTask    Scope = "task"    // the agent's, until its user says the next thing in the conversation of the request
	ScopeSession Scope = "session" // the agent's, in the session of the request
	ScopeAgent   Scope = "agent"   // the agent's, in any session; for proven agents only
)

// Known reports whether there is such a scope.
func (s Scope) Known() bool { return s == ScopeTask || s == ScopeSession || s == ScopeAgent }

// MatchKind says which calls a grant covers.
type MatchKind string

// The kinds of match, narrowest first.
const (
	// MatchExact covers the same call again: tool, server and arguments. Of a
	// command, what only describes it to the user may differ.
	MatchExact MatchKind = "exact"
	// MatchPattern covers calls of the same shape whose chosen arguments are
	// the same.
	MatchPattern MatchKind = "pattern"
	// MatchTool covers calls of the same tool that reach no further: see
	// [holdgate.Shape.Within]. It is for those that read or write files and do
	// nothing else: see [holdgate.Shape.Acts]. Where the question is about the tool
	// itself ([holdgate.HoldSpec.Tool]), it covers calls with any arguments that
	// reach no further ([holdgate.Shape.Reaches]), as long as the tool's server says
	// the same of it.
	MatchTool MatchKind = "tool"
	// MatchEndpoint covers HTTP requests of the same method to the same scheme, host
	// and path, whatever their query and body are.
	MatchEndpoint MatchKind = "endpoint"
	// MatchShape covers calls of the same shape. No person can ask for it: it is
	// that of what was learned of calls that do nothing but read or write files.
	MatchShape MatchKind = "shape"
	// MatchProvided covers model requests that let the same provider run the same
	// set of tools. No person can ask for it: it is that of [holdgate.HoldSpec.Once].
	MatchProvided MatchKind = "provided"
)

// A Match says which calls a grant covers. Its JSON is "exact", "tool", "endpoint" or
// {"arguments": {POINTER: VALUE}}.
type Match struct {
	Kind MatchKind
	// Arguments are what a pattern fixes: values by JSON pointer (RFC 6901)
	// into the arguments.
	Arguments map[string]json.RawMessage
}

// matchPattern is the JSON of a pattern.
type matchPattern struct {
	Arguments map[string]json.RawMessage `json:"arguments"`
}

// MarshalJSON implements [json.Marshaler].
func (m Match) MarshalJSON() ([]byte, error) {
	if m.Kind == MatchPattern {
		return json.Marshal(matchPattern{m.Arguments})
	}
	return json.Marshal(string(m.Kind))
}

// UnmarshalJSON implements [json.Unmarshaler]. It is strict: a member that is
// not known, or comes twice, is an error.
func (m *Match) UnmarshalJSON(b []byte) error {
	if jsontext.Value(b).Kind() == '"' {
		var word string
		if err := jsonv2.Unmarshal(b, &word); err != nil {
			return err
		}
		if k := MatchKind(word); k != MatchExact && k != MatchTool && k != MatchEndpoint {
			return fmt.Errorf("unknown match %q: want exact, tool, endpoint or {\"arguments\": {POINTER: VALUE}}", word)
		}
		*m = Match{Kind: MatchKind(word)}
		return nil
	}
	var p matchPattern
	if err := jsonv2.Unmarshal(b, &p, jsonv2.RejectUnknownMembers(true)); err != nil {
		return err
	}
	*m = Match{Kind: MatchPattern, Arguments: p.Arguments}
	return nil
}

// MaxUses bounds for how many calls an approval can stand, where it says a number.
const MaxUses = 1000

// Remember asks that an approval also stands for calls to come.
type Remember struct {
	Scope Scope `json:"scope,omitempty"` // empty is ScopeSession
	Match Match `json:"match,omitzero"`  // empty is MatchExact
	// For is how long, as "8h" in JSON; zero is [DefaultGrant].
	For time.Duration `json:"for,omitempty"`
	// Uses is for how many calls, the approved one not counted; 0: for any number.
	Uses int `json:"uses,omitempty"`
}

// rememberJSON is the JSON of a Remember.
type rememberJSON struct {
	Scope Scope  `json:"scope,omitempty"`
	Match *Match `json:"match,omitempty"`
	For   string `json:"for,omitempty"`
	Uses  int    `json:"uses,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (m Remember) MarshalJSON() ([]byte, error) {
	m = m.Complete()
	return json.Marshal(rememberJSON{m.Scope, &m.Match, m.For.String(), m.Uses})
}

// UnmarshalJSON implements [json.Unmarshaler]. It is strict.
func (m *Remember) UnmarshalJSON(b []byte) error {
	var j rememberJSON
	if err := jsonv2.Unmarshal(b, &j, jsonv2.RejectUnknownMembers(true)); err != nil {
		return err
	}
	if j.Uses < 0 {
		return fmt.Errorf("uses is %d: want a number of calls", j.Uses)
	}
	r := Remember{Scope: j.Scope, Uses: j.Uses}
	if j.Match != nil {
		r.Match = *j.Match
	}
	if j.For != "" {
		d, err := time.ParseDuration(j.For)
		if err != nil || d <= 0 {
			return fmt.Errorf("%q is no length of time: want 30m, 8h or 240h", j.For)
		}
		r.For = d
	}
	*m = r.Complete()
	return nil
}

// complete fills in what was left out.
func (m Remember) Complete() Remember {
	if m.Scope == "" {
		m.Scope = ScopeSession
	}
	if m.Match.Kind == "" {
		m.Match.Kind = MatchExact
	}
	if m.For == 0 {
		m.For = DefaultGrant
	}
	return m
}

// Words says what a grant made of the request would cover, in one line that is
// safe to show: which calls, in which folder, whose, how long, how often, and for which
// question. It is what a person must see before it is made.
func (m Remember) Words(r Request) string {
	m = m.Complete()
	var b strings.Builder
	b.WriteString("always allow: " + m.covered(r))
	if folder := r.Briefing.Place.Folder; folder != "" && !(m.Match.Kind == MatchTool && r.AboutTool) {
		b.WriteString(", in " + folder)
	}
	switch m.Scope {
	case ScopeAgent:
		b.WriteString(", by " + holdgate.Visible(r.Agent.ID) + " in any session")
	case ScopeTask:
		b.WriteString(", by " + holdgate.Visible(r.Agent.ID) + " in session " + holdgate.Visible(r.Session.ID) + " until its user gives it the next task")
	default:
		b.WriteString(", by " + holdgate.Visible(r.Agent.ID) + " in session " + holdgate.Visible(r.Session.ID))
	}
	b.WriteString(", for " + Lasting(m.For))
	switch m.Uses {
	case 0:
		b.WriteString(" and any number of calls")
	case 1:
		b.WriteString(" and one call")
	default:
		fmt.Fprintf(&b, " and %d calls", m.Uses)
	}
	b.WriteString(", where the rule " + holdgate.Visible(r.Rule) + " asks")
	if r.Risk != "" && r.Risk != holdgate.RiskCritical {
		b.WriteString(" at " + holdgate.Visible(string(r.Risk)) + " risk at most")
	}
	return b.String()
}

// covered says which calls a grant made of the request would cover.
func (m Remember) covered(r Request) string {
	t := r.Call.Tool
	if t == nil {
		switch m.Match.Kind {
		case MatchEndpoint:
			return "every " + holdgate.Visible(r.Call.HTTP) + ", whatever its query and body"
		case MatchProvided:
			return "the tools that run at the provider in " + r.Briefing.Summary
		}
		return r.Briefing.Summary + " (exactly this call)"
	}
	name := holdgate.Visible(strings.TrimPrefix(t.Server+"/"+t.Name, "/"))
	switch m.Match.Kind {
	case MatchExact:
		return name + " with exactly " + given(t.Arguments, r.Prose)
	case MatchTool:
		if r.AboutTool {
			return "every call of " + name + " that reaches no further than this one, whatever its arguments, as long as its server says the same of it"
		}
		return "every call of " + name + " that " + r.does() + ", whatever " + listing(names(t.Arguments)) + " say"
	}
	var fixed []string
	for _, p := range slices.Sorted(maps.Keys(m.Match.Arguments)) {
		fixed = append(fixed, value(named(strings.TrimPrefix(p, "/")), m.Match.Arguments[p]))
	}
	return "every call of the shape " + r.Shape + ", with " + listing(fixed)
}

// does says what a call that reads and writes files does, as this one.
func (r Request) does() string {
	verbs := map[holdgate.EffectKind]string{holdgate.EffectRead: "reads", holdgate.EffectWrite: "writes", holdgate.EffectDelete: "deletes"}
	var done []string
	for _, e := range r.Briefing.Effects {
		if v := verbs[e.Kind]; v != "" && !slices.Contains(done, v) {
			done = append(done, v)
		}
	}
	what := "does nothing but what this one does"
	if len(done) > 0 {
		what = "only " + listing(done) + " files"
	}
	if r.Briefing.Place.Folder == "" {
		return what + ", where this one does"
	}
	return what + ", anywhere in the folder and outside of it only where this one does"
}

// given is what a call is given, as a person reads it: each argument with its value, but
// for prose, the arguments that may say anything.
func given(arguments json.RawMessage, prose []string) string {
	var args map[string]json.RawMessage
	if json.Unmarshal(arguments, &args) != nil {
		return "these arguments"
	}
	var said []string
	for _, k := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(prose, k) {
			said = append(said, value(named(k), args[k]))
		}
	}
	what := listing(said)
	if len(said) == 0 {
		what = "no arguments"
	}
	switch len(prose) {
	case 0:
		return what
	case 1:
		return what + ", whatever " + named(prose[0]) + " says"
	}
	return what + ", whatever " + listing(allNamed(prose)) + " say"
}

// names are the names of a call's arguments, safe to show.
func names(arguments json.RawMessage) (list []string) {
	var args map[string]json.RawMessage
	if json.Unmarshal(arguments, &args) != nil {
		return []string{"its arguments"}
	}
	return allNamed(slices.Sorted(maps.Keys(args)))
}

func allNamed(keys []string) (list []string) {
	for _, k := range keys {
		list = append(list, named(k))
	}
	return list
}

// identifier is a name that nobody takes for words of the sentence that it stands in.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// named is an argument's name, which is the agent's word: quoted where it is no identifier.
func named(key string) string {
	if key = cut(key); identifier.MatchString(key) {
		return key
	}
	quoted, err := jsontext.AppendQuote(nil, key)
	if err != nil {
		return "an argument whose name is no text"
	}
	return holdgate.Visible(string(quoted))
}

// maxListed is how many things are listed in words: the rest is counted.
const maxListed = 8

// maxShown is how many characters of a name or a value are shown in words.
const maxShown = 60

// value is an argument with its value, of which the beginning is shown where it is long.
func value(name string, v json.RawMessage) string {
	if n := utf8.RuneCount(v); n > maxShown {
		return fmt.Sprintf("%s = the %d characters that begin %s", name, n, short(string(v)))
	}
	return name + " = " + short(string(v))
}

// short is the beginning of a text, safe to show.
func short(s string) string { return holdgate.Visible(cut(s)) }

func cut(s string) string {
	if r := []rune(s); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return s
}

// listing is "a", "a and b", or "a, b and c"; of many things "a, b and 3 more".
func listing(list []string) string {
	switch more := len(list) - maxListed; {
	case more > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxListed], ", "), more)
	case len(list) < 2:
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// lasting writes a duration in days where it is some, and without the units
// that are zero.
func Lasting(d time.Duration) string {
	if days := d / (24 * time.Hour); days > 0 && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", days)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
