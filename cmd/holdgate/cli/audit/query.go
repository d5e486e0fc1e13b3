package audit

import (
	"encoding/json"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/store/audit"
)

func queryCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "query",
		UsageText: "holdgate audit query --agent claude --since 1d --type outcome",
		Usage:     "list entries, oldest first",
		Flags: append(selecting(), command.JSONFlag(),
			&cli.Uint64Flag{Name: "from", Usage: "begin at this entry's `NUMBER`"},
			&cli.IntFlag{Name: "limit", Usage: "list at most `N`, up to 1000", Value: 100},
		),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return command.Usage("audit query takes no arguments, got %q", c.Args().First())
			}
			if n := c.Int("limit"); n < 1 || n > 1000 {
				return command.Usage("--limit %d: want 1 to 1000", n)
			}
			q, err := selected(c)
			if err != nil {
				return err
			}
			q.From, q.Limit = c.Uint64("from"), c.Int("limit")
			l, err := e.OpenLog(c)
			if err != nil {
				return err
			}
			var entries []audit.Entry
			if q.RequestID, err = command.LoggedRequest(c, l, q.RequestID); err == nil {
				entries, err = l.Query(c.Context, q)
			}
			var args map[question]json.RawMessage
			if err == nil && !c.Bool("json") {
				args, err = argued(c, l, entries)
			}
			if err := errors.Join(err, l.Close()); err != nil {
				return err
			}
			if c.Bool("json") {
				if entries == nil {
					entries = []audit.Entry{}
				}
				return command.PrintJSON(e.Stdout, entries)
			}
			if len(entries) == 0 {
				return &command.Exit{Code: command.ExitNothing, Text: "no entry of the audit log is selected"}
			}
			width, colour := e.Screen(e.Stdout)
			return writeEntries(e.Stdout, entries, args, width, colour)
		},
	}
}
