package audit

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/store/audit"
)

// selecting are the flags of commands that select entries of the audit log.
func selecting() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "request", Usage: "only those of the request with this `ID`"},
		&cli.StringFlag{Name: "type", Usage: "only those of this `TYPE`: decision, vote, outcome, used, result, ..."},
		&cli.StringFlag{Name: "agent", Usage: "only those of this agent"},
		&cli.StringFlag{Name: "session", Usage: "only those of this session"},
		&cli.StringFlag{Name: "tool", Usage: "only those of calls of this tool, or of this MCP \"server method\""},
		&cli.StringFlag{Name: "rule", Usage: "only what this rule decided"},
		&cli.StringFlag{Name: "member", Usage: "only those that this member wrote, where several sidecars share a store"},
		&cli.StringFlag{Name: "action", Usage: "only these decisions, also those that would have been taken in enforce mode: `allow, hold or deny`"},
		&cli.StringFlag{Name: "since", Usage: "only those since this `TIME`: 2h, 2026-11-22, or \"2026-11-22 05:00\""},
		&cli.StringFlag{Name: "until", Usage: "only those before this `TIME`"},
		&cli.StringFlag{Name: "text", Usage: "only those that have this text somewhere, in any case"},
	}
}

// selected is what the flags select.
func selected(c *cli.Context) (q audit.Query, err error) {
	q = audit.Query{
		RequestID: c.String("request"), Type: audit.Type(c.String("type")), Agent: c.String("agent"), Session: c.String("session"),
		Tool: c.String("tool"), Rule: c.String("rule"), Member: c.String("member"), Action: c.String("action"), Text: c.String("text"),
	}
	if err := checkType(q.Type); err != nil {
		return q, err
	}
	if q.Action != "" {
		if _, err := holdgate.ParseAction(q.Action); err != nil {
			return q, command.Usage("--action %q: want allow, hold or deny", q.Action)
		}
	}
	if q.Since, err = command.Moment("since", c.String("since")); err != nil {
		return q, err
	}
	q.Until, err = command.Moment("until", c.String("until"))
	return q, err
}

// checkType refuses a --type that no entry has; empty is any.
func checkType(t audit.Type) error {
	if t == "" || slices.Contains(audit.Types(), t) {
		return nil
	}
	var names []string
	for _, known := range audit.Types() {
		names = append(names, string(known))
	}
	return command.Usage("--type %q: want one of %s", t, strings.Join(names, ", "))
}
