package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/store/audit"
)

func queryCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "query",
		UsageText: "holdgate audit query --agent claude --since 1d --type outcome",
		Usage:     "list the newest entries, the oldest of them first",
		Description: "Lists the newest 100 of the entries that are selected, and says on standard error how many earlier ones there are.\n" +
			"--from begins at an entry instead: --from 1 at the oldest.",
		Flags: append(selecting(), command.JSONFlag(),
			&cli.Uint64Flag{Name: "from", Usage: "begin at this entry's `NUMBER`, and go on to newer ones"},
			&cli.IntFlag{Name: "limit", Usage: "list at most `N`, up to 1000", Value: 100},
			&cli.StringFlag{Name: "export", Usage: "search in this `FILE`, which audit export wrote; it is not verified"},
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
			if file := c.String("export"); file != "" {
				return e.query(c, exported(file), q)
			}
			return e.WithLog(c, func(l command.Log) error { return e.query(c, l, q) })
		},
	}
}

// query prints what is selected, and says what is left out.
func (e *env) query(c *cli.Context, l command.Entries, q audit.Query) (err error) {
	if q.RequestID, err = command.LoggedRequest(c, l, q.RequestID); err != nil {
		return err
	}
	entries, left, err := some(c, l, q)
	if err != nil {
		return err
	}
	if err := e.printEntries(c, l, entries); err != nil {
		return err
	}
	_, err = io.WriteString(e.Stderr, left)
	return err
}

func (e *env) printEntries(c *cli.Context, l command.Entries, entries []audit.Entry) error {
	if c.Bool("json") {
		if entries == nil {
			entries = []audit.Entry{}
		}
		return command.PrintJSON(e.Stdout, entries)
	}
	if len(entries) == 0 {
		return &command.Exit{Code: command.ExitNothing, Text: "no entry of the audit log is selected"}
	}
	args, err := argued(c, l, entries)
	if err != nil {
		return err
	}
	width, colour := e.Screen(e.Stdout)
	return writeEntries(e.Stdout, entries, args, width, colour)
}

// some are as many entries as --limit says, from --from on or the newest, and what to say
// of those that are left out.
func some(c *cli.Context, l command.Entries, q audit.Query) (list []audit.Entry, left string, err error) {
	if q.From == 0 {
		list, earlier, err := newest(c, l, q)
		if earlier > 0 {
			left = fmt.Sprintf("note: %s not shown: --limit N shows up to 1000, --from 1 begins with the oldest\n", counted(earlier, "earlier entry is", "earlier entries are"))
		}
		return list, left, err
	}
	if list, err = l.Query(c.Context, q); err != nil || len(list) < q.Limit {
		return list, "", err
	}
	rest := q
	rest.From, rest.Limit = list[len(list)-1].Seq+1, 1
	next, err := l.Query(c.Context, rest)
	if len(next) > 0 {
		left = fmt.Sprintf("note: later entries are not shown: --from %d goes on\n", next[0].Seq)
	}
	return list, left, err
}

// newest are the last entries that are selected, and how many there are before them.
func newest(c *cli.Context, l command.Entries, q audit.Query) (list []audit.Entry, earlier int, err error) {
	if log, ok := l.(command.Log); ok && q == (audit.Query{Limit: q.Limit}) {
		return lastOf(c, log, q.Limit)
	}
	err = command.Each(c, l, q, func(n audit.Entry) error {
		if list = append(list, n); len(list) == 2*q.Limit {
			list, earlier = append(list[:0], list[q.Limit:]...), earlier+q.Limit
		}
		return nil
	})
	over := max(len(list)-q.Limit, 0)
	return list[over:], earlier + over, err
}

// lastOf are the last entries of a log, which is not read from its beginning for them.
func lastOf(c *cli.Context, l command.Log, most int) (list []audit.Entry, earlier int, err error) {
	head, err := l.Checkpoint(c.Context, 0)
	if err != nil {
		return nil, 0, err
	}
	from := head.Size - min(head.Size, uint64(most)) + 1
	first, err := l.Query(c.Context, audit.Query{Limit: 1}) // what is older was dropped
	if err == nil {
		list, err = l.Query(c.Context, audit.Query{From: from, Limit: most})
	}
	if len(first) > 0 && first[0].Seq < from {
		earlier = int(from - first[0].Seq)
	}
	return list, earlier, err
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// exported is the path of a log that audit export wrote.
type exported string

// Query collects what Each finds.
func (f exported) Query(ctx context.Context, q audit.Query) (list []audit.Entry, err error) {
	err = f.Each(ctx, q, func(n audit.Entry) error {
		list = append(list, n)
		return nil
	})
	return list, err
}

// Each reads the file.
func (f exported) Each(ctx context.Context, q audit.Query, fn func(audit.Entry) error) error {
	in, err := os.Open(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return command.Usage("--export: there is no file %s", string(f))
	}
	if err != nil {
		return fmt.Errorf("--export: %w", err)
	}
	return errors.Join(audit.Select(ctx, in, q, fn), in.Close())
}
