package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/plugins/sdk/page"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/learn"
	"github.com/holdgate/holdgate/rego/verdict"
	"github.com/holdgate/holdgate/store/audit"
)

func explainCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "explain",
		UsageText: "holdgate policy explain f33xjt",
		Usage:     "say which rules decided a past call, and what they saw of it",
		ArgsUsage: "ID",
		Description: "ID is a request or its beginning, or the number of an entry of the audit log. The call is judged\n" +
			"again by the policy on disk: where that is another one than then, or the log does\n" +
			"not have all of the call, it says so. Works with and without a running sidecar.",
		Flags: []cli.Flag{policyFlag(), command.JSONFlag(), &cli.BoolFlag{Name: "trace", Usage: "print each step of the evaluation too"}},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return command.Usage("policy explain takes one ID: a request, or an entry's number")
			}
			x, err := e.explained(c, c.Args().First())
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return command.PrintJSON(e.Stdout, x)
			}
			width, _ := e.Screen(e.Stdout)
			return x.write(e.Stdout, width)
		},
	}
}

// An explained is what policy explain prints.
type explained struct {
	Entry   audit.Entry       `json:"entry"`
	Outcome *holdgate.Outcome `json:"outcome,omitempty"` // of the request
	Status  holdgate.Status   `json:"status,omitempty"`  // that the outcome gave it
	// Judged says that the call was judged again; Unknown says why it was not.
	Judged  bool   `json:"judged"`
	Unknown string `json:"unknown,omitempty"`
	// SamePolicy says that the policy is the one that decided then.
	SamePolicy bool           `json:"same_policy"`
	Now        map[string]any `json:"now,omitempty"` // the decision
	Fired      []rego.Fired   `json:"fired,omitempty"`
	Input      any            `json:"input,omitempty"`
	Trace      string         `json:"trace,omitempty"`

	decision holdgate.Decision
	says     string // what the call does, of one that is tried
}

func (e *env) explained(c *cli.Context, id string) (*explained, error) {
	x := &explained{}
	err := e.WithLog(c, func(l command.Log) error { return x.find(c, l, id) })
	if err != nil {
		return nil, err
	}
	engine, own, err := e.learningEngine(c)
	if err != nil {
		return nil, err
	}
	defer engine.Close(c.Context)
	x.SamePolicy = engine.Loaded().Revision == x.Entry.Decision.Revision
	why, err := engine.Explain(c.Context, learn.PastOf(x.Entry, own), c.Bool("trace"))
	if u, ok := errors.AsType[*rego.UnjudgedError](err); ok {
		x.Unknown = u.Why
		return x, nil
	}
	if err != nil {
		return nil, err
	}
	x.Judged, x.decision, x.Now = true, why.Decision, verdict.Document(why.Decision)
	x.Fired, x.Input, x.Trace = why.Fired, why.Input, why.Trace
	return x, nil
}

// find looks the call up, by the id of its request or its entry's number.
func (x *explained) find(c *cli.Context, l command.Log, id string) (err error) {
	q := audit.Query{RequestID: id}
	if n, err := strconv.ParseUint(id, 10, 64); err == nil {
		q = audit.Query{From: n, Limit: 1}
	}
	if q.RequestID, err = command.LoggedRequest(c, l, q.RequestID); err != nil {
		return err
	}
	found := false
	entries, err := l.Query(c.Context, q)
	if err != nil {
		return err
	}
	for _, n := range entries {
		if !found && learn.Judged(n) && (q.From == 0 || n.Seq == q.From) {
			x.Entry, found = n, true
		}
	}
	if !found {
		return &command.Exit{Code: command.ExitNothing, Text: fmt.Sprintf("no decision has the request or the number %q", id),
			Hint: "holdgate audit query --type decision lists them"}
	}
	if x.Entry.RequestID == "" || x.Entry.Type == audit.TypeGranted {
		return nil
	}
	ends, err := l.Query(c.Context, audit.Query{RequestID: x.Entry.RequestID, Type: audit.TypeOutcome, From: x.Entry.Seq})
	if err != nil {
		return err
	}
	for _, n := range ends {
		x.Outcome, x.Status = n.Outcome, n.Status
	}
	return nil
}

// answer is what became of the question to people.
func (x *explained) answer() string {
	switch {
	case x.Outcome == nil:
		return "nobody has answered it yet"
	case x.Outcome.Reason != "":
		return fmt.Sprintf("%s by %s: %s", x.Outcome.Decision, x.Outcome.By, x.Outcome.Reason)
	}
	return fmt.Sprintf("%s by %s%s", x.Outcome.Decision, x.Outcome.By, word(", request ", string(x.Status)))
}

// learningEngine is the policy that past calls are judged by, and what is
// Holdgate's own here.
func (e *env) learningEngine(c *cli.Context) (*rego.Engine, rego.Own, error) {
	o, err := e.policyOptions(c)
	if err != nil {
		return nil, rego.Own{}, err
	}
	s, err := e.Settings(c)
	if err != nil {
		return nil, rego.Own{}, err
	}
	engine, err := rego.Open(c.Context, o)
	return engine, app.Own(s), err
}

// write says all of it; a width of 0 is any.
func (x *explained) write(w io.Writer, width int) error {
	var b strings.Builder
	line := liner(&b, width)
	n := x.Entry
	d := n.Decision
	line("entry %d, %s: %s by %s in session %s", n.Seq, n.Time.Local().Format(time.DateTime), n.Call.Name(), n.Call.Agent, n.Call.Session)
	line("then: %s by rule %s%s, policy %s", d.Action, command.Dash(d.Rule), risk(string(d.Risk)), command.Dash(d.Revision))
	if d.Reason != "" {
		line("  %s", d.Reason)
	}
	if n.Type == audit.TypeGranted {
		line("  %s by grant %s of %s", "approved", n.Grant, n.Outcome.By)
		if n.Note != "" {
			line("  %s", n.Note)
		}
	} else if n.RequestID != "" {
		line("  people were asked: request %s: %s", n.RequestID, x.answer())
	}
	if !x.Judged {
		line("which rules fired is unknown: %s", x.Unknown)
		_, err := io.WriteString(w, b.String())
		return err
	}
	now := "the same policy"
	if !x.SamePolicy {
		now = fmt.Sprintf("ANOTHER policy than then, %s", x.decision.Revision)
	}
	line("now: %s by rule %s%s, %s", x.decision.Action, command.Dash(x.decision.Rule), risk(string(x.decision.Risk)), now)
	x.writeRules(line)
	line("what they saw:")
	for _, fact := range sawInWords(x.decision.Facts, x.Input) {
		line("  %s", fact)
	}
	if x.Trace != "" {
		line("trace:")
		for step := range strings.SplitSeq(strings.TrimRight(x.Trace, "\n"), "\n") {
			line("  %s", strings.ReplaceAll(step, "\t", " "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (x *explained) writeRules(line func(string, ...any)) {
	if len(x.Fired) == 0 {
		line("no rule has anything to say of it")
		return
	}
	line("rules that fired:")
	for _, f := range x.Fired {
		lifted := map[string]string{"answered": "; people have answered it", "exception": "; an exception of the settings lifts it", "contained": "; code that nobody has read may pass so"}[f.Lifted]
		if f.Observes {
			lifted += "; it only observes"
		}
		line("  %s  %s%s%s", f.Action, f.Rule, risk(f.Risk), lifted)
		line("    %s", f.Reason)
		if len(f.About) > 0 {
			line("    about: %s", strings.Join(f.About, "; "))
		}
		if f.Location != "" {
			line("    %s (%s)", cmp.Or(f.Title, f.Rule), f.Location)
		}
	}
}

// liner returns what writes lines, safe to show. A text of several lines, such as code
// that a command is given, goes on below behind a mark, and so does, behind another one,
// a line that is wider than the screen; a width of 0 is any.
func liner(b *strings.Builder, width int) func(format string, args ...any) {
	return func(format string, args ...any) {
		text := strings.TrimLeft(format, " ") // its blanks are apart from those of what it names
		mark := format[:len(format)-len(text)]
		text = strings.TrimRight(fmt.Sprintf(text, args...), "\n ")
		for i, l := range strings.Split(text, "\n") {
			if i > maxCodeLines {
				fmt.Fprintf(b, codeMark+"... and %d more lines\n", strings.Count(text, "\n")-maxCodeLines)
				break
			}
			room := 0
			if i > 0 {
				mark = codeMark
			}
			if width > 0 {
				room = max(width-len(codeMark), 2)
			}
			for _, part := range page.Wrap([]page.Line{{Text: strings.TrimRight(holdgate.Visible(l), " ")}}, room) {
				b.WriteString(strings.TrimRight(mark+part.Text, " ") + "\n")
				mark = wrapMark
			}
		}
	}
}

// Marks before what goes on below: lines of a text, and the rest of a line.
const (
	codeMark = "      | "
	wrapMark = "      : "
)

// maxCodeLines is how many lines of a text are shown, besides its first.
const maxCodeLines = 12

func risk(r string) string {
	if r == "" {
		return ""
	}
	return " (" + r + " risk)"
}

// sawInWords says what policy was told of a call, a fact a line.
func sawInWords(f *holdgate.Facts, input any) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if f != nil {
		add("what the tool does: %s", f.Category)
		for _, c := range f.Commands {
			add("it runs %s%s", strings.Join(c.Argv, " "), but(c))
		}
		for _, p := range f.Paths {
			where := "outside the session's folder"
			if p.Inside {
				where = "inside the session's folder"
			}
			add("it %ss %s, %s%s", p.Access, p.Clean, where, word(", ", p.Class))
		}
		for _, s := range f.SQL {
			add("SQL: %s%s %s", s.Verb, word(" ", s.Object), strings.Join(s.Tables, ", "))
		}
		for _, u := range f.URLs {
			add("it names the host %s", u.Host)
		}
		for _, s := range f.Secrets {
			add("it holds what looks like a secret (%s)", s.Kind)
		}
		for _, why := range f.ParseErrors {
			add("it could not be read in full: %s", why)
		}
		if len(f.SuspiciousText) > 0 {
			add("it holds characters that deceive: %s", strings.Join(f.SuspiciousText, ", "))
		}
	}
	o, _ := input.(map[string]any)
	for _, part := range []string{"session", "agent", "history", "usage", "confidence", "model", "mcp", "http"} {
		if said := members(o[part]); len(said) > 0 {
			add("%s: %s", part, strings.Join(said, ", "))
		}
	}
	return list
}

// but says what is not known of a command.
func but(c holdgate.Command) string {
	s := ""
	if len(c.Via) > 0 {
		s += ", by " + strings.Join(c.Via, ", ")
	}
	if len(c.Unresolved) > 0 {
		s += ", of which is not known before it runs: " + strings.Join(c.Unresolved, ", ") + word(", because of ", strings.Join(c.Reasons, ", "))
	}
	if len(c.Unbound) > 0 {
		s += ", with files that nobody was shown: " + strings.Join(c.Unbound, ", ")
	}
	return s
}

func word(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

// members are those of an object, as "name value".
func members(v any) []string {
	o, _ := v.(map[string]any)
	var list []string
	for name, value := range o {
		list = append(list, fmt.Sprintf("%s %v", name, value))
	}
	slices.Sort(list)
	return list
}
