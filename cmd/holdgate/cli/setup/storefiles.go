package setup

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

func (e *env) storeCheck(c *cli.Context) error { return e.storeFiles(c, app.CheckFiles) }

func (e *env) storeSalvage(c *cli.Context) error { return e.storeFiles(c, app.SalvageFiles) }

// storeFiles tells how the files of the state folder's database are, as look finds them.
func (e *env) storeFiles(c *cli.Context, look func(stateDir string) (app.Files, error)) error {
	if c.Args().Present() {
		return command.Usage("store %s takes no arguments, got %q", c.Command.Name, c.Args().First())
	}
	s, err := e.Settings(c)
	if err != nil {
		return err
	}
	f, err := look(s.StateDir)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = command.PrintJSON(e.Stdout, f)
	} else {
		err = printFiles(e.Stdout, f)
	}
	if err != nil {
		return err
	}
	switch {
	case !f.Kept:
		return &command.Exit{Code: command.ExitFailed, Text: "something may be lost, and nothing was changed", Hint: "restore the state folder from a backup, or move its db folder away to begin anew"}
	case len(f.Damaged) > 0 && f.Aside == "":
		return &command.Exit{Code: command.ExitFailed, Text: "the log is damaged, and nothing is lost", Hint: "holdgate store salvage mends it"}
	}
	return nil
}

func printFiles(w io.Writer, f app.Files) error {
	for _, d := range f.Damaged {
		fmt.Fprintln(w, "damaged:", d)
	}
	for _, l := range f.Lost {
		fmt.Fprintln(w, "may be lost:", l)
	}
	switch {
	case f.Aside != "":
		fmt.Fprintf(w, "nothing is lost: the database has all that the log held\nthe damaged log is kept in %s\n", f.Aside)
	case len(f.Damaged) == 0:
		fmt.Fprintln(w, "the files are whole")
	}
	_, err := fmt.Fprintf(w, "records of the log that are whole: %d\n", f.Records)
	return err
}
