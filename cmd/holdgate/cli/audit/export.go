package audit

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/store/audit"
)

func exportCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "export",
		UsageText: "holdgate audit export > audit.jsonl",
		Usage:     "print the whole log, one JSON object a line; or entries of it as CSV or as OPA's decision logs",
		Flags: append(selecting(),
			&cli.StringFlag{Name: "format", Usage: "`jsonl, csv or opa`; what jsonl prints whole is what audit verify reads", Value: "jsonl"},
			&cli.BoolFlag{Name: "json", Usage: "the same as --format jsonl"}),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return command.Usage("audit export takes no arguments, got %q", c.Args().First())
			}
			q, err := selected(c)
			if err != nil {
				return err
			}
			return e.WithLog(c, func(l command.Log) error {
				switch format := c.String("format"); {
				case format == "jsonl" && q == (audit.Query{}):
					return l.Export(c.Context, e.Stdout)
				case format == "jsonl":
					return command.Each(c, l, q, func(n audit.Entry) error { return printLine(e.Stdout, n) })
				case format == "csv":
					return exportCSV(c, l, q, e.Stdout)
				case format == "opa":
					q.Type = audit.TypeDecision
					return command.Each(c, l, q, func(n audit.Entry) error { return printLine(e.Stdout, opaEvent(n)) })
				}
				return command.Usage("--format %q: want jsonl, csv or opa", c.String("format"))
			})
		},
	}
}

func printLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// exportCSV prints entries as a table (RFC 4180).
func exportCSV(c *cli.Context, l command.Log, q audit.Query, to io.Writer) error {
	w := csv.NewWriter(to)
	err := w.Write([]string{"seq", "time", "type", "request", "agent", "session", "kind", "tool", "server", "model", "mcp", "http",
		"action", "rule", "risk", "reason", "outcome", "by", "note", "input", "hash", "member", "program", "folder", "said"})
	err = errors.Join(err, command.Each(c, l, q, func(n audit.Entry) error {
		row := csvRow(n)
		for i := range row {
			row[i] = cell(row[i])
		}
		return w.Write(row)
	}))
	w.Flush()
	return errors.Join(err, w.Error())
}

func csvRow(n audit.Entry) []string {
	var call audit.Call
	var tool audit.Tool
	var d audit.Decision
	var o holdgate.Outcome
	var action, risk string
	if n.Call != nil {
		call = *n.Call
	}
	if call.Tool != nil {
		tool = *call.Tool
	}
	if n.Decision != nil {
		d = *n.Decision
		action, risk = d.Action.String(), string(d.Risk)
	}
	if n.Outcome != nil {
		o = *n.Outcome
	}
	return []string{strconv.FormatUint(n.Seq, 10), n.Time.Format(time.RFC3339Nano), string(n.Type), n.RequestID, call.Agent, call.Session,
		string(call.Kind), tool.Name, tool.Server, call.Model, call.MCP, call.HTTP, action, d.Rule, risk, d.Reason, string(o.Decision), o.By, n.Note,
		string(n.Input), n.Hash, n.Member, call.Program, call.Folder, call.Said}
}

// cell is a text that no spreadsheet takes for a formula, and no screen for
// anything but text.
func cell(s string) string {
	s = holdgate.Visible(s)
	if strings.HasPrefix(strings.TrimLeft(s, " "), "=") || s != "" && strings.ContainsRune("+-@|%", rune(s[0])) {
		return "'" + s
	}
	return s
}

// opaEvent is a decision in the form of OPA's decision logs
// (openpolicyagent.org/docs/management-decision-logs).
func opaEvent(n audit.Entry) map[string]any {
	input := map[string]any{"door": n.Door, "exchange": n.Exchange}
	if n.Call != nil {
		input["call"] = n.Call
	}
	if n.Input != nil {
		input["input"] = n.Input
	}
	event := map[string]any{
		"decision_id": n.Hash, "path": "holdgate/decision", "timestamp": n.Time,
		"labels": map[string]string{"app": "holdgate", "seq": strconv.FormatUint(n.Seq, 10), "request": n.RequestID},
		"input":  input, "result": n.Decision,
	}
	if n.Decision != nil {
		event["revision"] = n.Decision.Revision
	}
	return event
}
