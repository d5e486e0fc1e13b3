package decide

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// texts are the values of a flag that may be repeated. A comma in one is a
// comma.
type texts []string

func (t *texts) String() string { return strings.Join(*t, " ") }

func (t *texts) Set(s string) error {
	*t = append(*t, s)
	return nil
}

// rememberFlags make a standing approval of an approval.
func rememberFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "remember", Value: &texts{}, Usage: "always allow `WHAT` from now on. exact: this very call. tool: any call of the tool that reaches no further. endpoint: any HTTP request of this method, host and path. " +
			"/ARGUMENT or /ARGUMENT=VALUE: calls of this shape with that argument the same; repeatable"},
		&cli.StringFlag{Name: "scope", Value: string(record.ScopeSession), Usage: "`SCOPE` of what is remembered: task (until the agent's user says the next thing), session, or agent (in any session; a proven agent only)"},
		&cli.StringFlag{Name: "for", Value: "8h", Usage: "`TIME` for which it is remembered: 30m, 8h, 7d"},
		&cli.IntFlag{Name: "uses", Usage: "`NUMBER` of calls for which it is remembered, at most; 0: any number"},
	}
}

// remember returns what the flags ask to be remembered of the request, and
// says what that will cover.
func (e *env) remember(c *cli.Context, shown io.Writer, r approvals.Request) (*approvals.Remember, error) {
	m, err := remembering(c, r)
	if err == nil && m != nil {
		_, err = fmt.Fprintf(shown, "%s\n", m.Words(r))
	}
	return m, err
}

// remembering is what the flags ask to be remembered of the request, nil where
// they ask nothing.
func remembering(c *cli.Context, r approvals.Request) (*approvals.Remember, error) {
	words, _ := c.Generic("remember").(*texts)
	if words == nil || len(*words) == 0 {
		if c.IsSet("scope") || c.IsSet("for") || c.IsSet("uses") {
			return nil, command.Usage("--scope, --for and --uses say how an approval is remembered: give --remember too")
		}
		return nil, nil //nolint:nilnil // nothing is asked
	}
	lasts, err := config.ParseDuration(c.String("for"))
	if err != nil {
		return nil, command.Usage("--for: %v", err)
	}
	m := &approvals.Remember{Scope: record.Scope(c.String("scope")), For: time.Duration(lasts), Uses: c.Int("uses")}
	if !m.Scope.Known() {
		return nil, command.Usage("--scope is task, session or agent, not %q", m.Scope)
	}
	if m.For <= 0 {
		return nil, command.Usage("--for must be more than 0")
	}
	for _, w := range *words {
		switch k := record.MatchKind(w); {
		case (k == record.MatchExact || k == record.MatchTool || k == record.MatchEndpoint) && len(*words) == 1:
			m.Match.Kind = k
		case strings.HasPrefix(w, "/"):
			if err := fix(&m.Match, r, w); err != nil {
				return nil, err
			}
		default:
			return nil, command.Usage("--remember is exact, tool, endpoint, or one or more of /ARGUMENT, not %q", w)
		}
	}
	return m, nil
}

// fix adds an argument to a pattern: "/POINTER" as the request shows it, or
// "/POINTER=VALUE", text as it is and anything else as JSON.
func fix(m *record.Match, r approvals.Request, word string) error {
	pointer, value, set := strings.Cut(word, "=")
	if r.Call.Tool == nil {
		return command.Usage("--remember %s: request %s is no tool call", pointer, r.ID)
	}
	shown, ok := grants.Argument(r.Call.Tool.Arguments, pointer)
	if !ok {
		return command.Usage("--remember %s: the call has no such argument", pointer)
	}
	if set {
		var err error
		if shown, err = given(value, shown); err != nil {
			return command.Usage("--remember %s: %v", pointer, err)
		}
	}
	if m.Kind = record.MatchPattern; m.Arguments == nil {
		m.Arguments = make(map[string]json.RawMessage)
	}
	m.Arguments[pointer] = json.RawMessage(shown)
	return nil
}

// given is a value from the command line as JSON: a text where the call has
// one there.
func given(value string, shown jsontext.Value) (jsontext.Value, error) {
	if shown.Kind() == '"' {
		return jsontext.AppendQuote(nil, value)
	}
	if v := jsontext.Value(value); v.IsValid() {
		return v, nil
	}
	return nil, fmt.Errorf("%q is no JSON, and the call has no text there", value)
}
