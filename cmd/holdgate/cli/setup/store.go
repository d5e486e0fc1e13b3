package setup

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

func storeCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "store",
		Usage: "check and mend the database, move it, share its keys",
		Subcommands: []*cli.Command{{
			Name:      "check",
			UsageText: "holdgate store check",
			Usage:     "say whether the files of the state folder's database are whole",
			Description: "Stop the sidecar first. Reads every table and the write-ahead log. Where the log is\n" +
				"damaged it says whether the database has all that was in it. Ends with 1 where a\n" +
				"file is damaged.",
			Flags:  []cli.Flag{command.JSONFlag()},
			Action: e.storeCheck,
		}, {
			Name:      "salvage",
			UsageText: "holdgate store salvage",
			Usage:     "mend a database whose write-ahead log is damaged and of which nothing is lost",
			Description: "Stop the sidecar first. The damaged log is kept in a folder db.damaged-TIME beside the\n" +
				"database. Where something may be lost, nothing is changed: approvals that were used\n" +
				"could count again. Restore a backup then.",
			Flags:  []cli.Flag{command.JSONFlag()},
			Action: e.storeSalvage,
		}, {
			Name:      "copy",
			UsageText: "holdgate store copy --to postgres",
			Usage:     "move the state folder's database to store.postgres",
			Description: "Stop the sidecar first. The audit log is verified before and after. What was cut\n" +
				"off goes on when you run the command again. From its beginning on the state folder's\n" +
				"database is not opened any more; the one in PostgreSQL is, once everything is there.",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "to", Usage: "copy to `STORE`: postgres, the database of store.postgres in the configuration"},
				&cli.BoolFlag{Name: "cancel", Usage: "take back a copy that has not ended"},
				command.JSONFlag(),
			},
			Action: e.storeCopy,
		}, {
			Name:      "keys",
			UsageText: "holdgate store keys --from /etc/holdgate-shared",
			Usage:     "put a Secret's files into the state folder, such as what sidecars share",
			Description: "Copies every file of a folder, such as a mounted Secret. Sidecars of one store share\n" +
				"secret.key, ca.pem, ca.key, approver.token and db.url. Channels and credentials have\n" +
				"files too. In the state folder only the owner can read them. Run it before serve.",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "from", Usage: "the `FOLDER` that has them"},
				command.JSONFlag(),
			},
			Action: e.storeKeys,
		}},
	}
}

func (e *env) storeKeys(c *cli.Context) error {
	switch {
	case c.Args().Present():
		return command.Usage("store keys takes no arguments, got %q", c.Args().First())
	case c.String("from") == "":
		return command.Usage("say where the files are: --from FOLDER")
	}
	s, err := e.Settings(c)
	if err != nil {
		return err
	}
	taken, err := app.TakeShared(s.StateDir, c.String("from"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, taken)
	}
	_, err = fmt.Fprintf(e.Stdout, "in %s: %s\n", s.StateDir, strings.Join(taken, ", "))
	return err
}

func (e *env) storeCopy(c *cli.Context) error {
	switch {
	case c.Args().Present():
		return command.Usage("store copy takes no arguments, got %q", c.Args().First())
	case c.String("to") != "postgres":
		return command.Usage("--to %q: want postgres", c.String("to"))
	}
	s, err := e.Settings(c)
	if err != nil {
		return err
	}
	if !s.Store.Postgres.On() {
		return command.Usage("no database is named: set store.postgres.url_file in the configuration")
	}
	progress := e.Progress("records copied")
	m := app.Move{Config: s, Logger: slog.New(slog.NewTextHandler(e.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), Copied: progress.Add}
	if c.Bool("cancel") {
		if err := m.Cancel(c.Context); err != nil {
			return err
		}
		_, err := fmt.Fprintf(e.Stdout, "the copy was taken back; the state is in %s\n", s.StateDir)
		return err
	}
	moved, err := m.Run(c.Context)
	progress.Done()
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, moved)
	}
	_, err = fmt.Fprintf(e.Stdout, "%d records are in PostgreSQL\nthe audit log's %d entries are in order, as before; head %s\nnext: holdgate serve\n",
		moved.Pairs, moved.Entries, moved.Head)
	return err
}
