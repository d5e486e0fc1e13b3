package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/undo"
)

// diffCommand says what a run has changed.
func diffCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "diff", UsageText: "holdgate diff\nholdgate diff CALL", Usage: "show what a run with --undo changed", ArgsUsage: "[RUN|CALL] [PATH...]",
		Description: "Without a RUN it is the last one in this folder. holdgate undo --list lists them.\n" + aboutCalls,
		Flags:       []cli.Flag{command.JSONFlag()},
		Action:      e.showChanges,
	}
}

// undoCommand takes back what a run has changed.
func undoCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "undo", UsageText: "holdgate undo\nholdgate undo CALL\nholdgate undo RUN .git/hooks\nholdgate undo --list", Usage: "take back what a run with --undo changed", ArgsUsage: "[RUN|CALL] [PATH...]",
		Description: "Shows what will be taken back, and asks. Without a RUN it is the last one in this folder.\n" +
			"What was changed after the run stays as it is, and is listed. An undo is a run of its own:\n" +
			"holdgate undo with its name brings back what it took away.\n" + aboutCalls,
		Flags: []cli.Flag{
			command.JSONFlag(),
			&cli.BoolFlag{Name: "list", Usage: "list the runs that are kept"},
			&cli.BoolFlag{Name: "yes", Usage: "do not ask"},
		},
		Action: e.undoRun,
	}
}

const aboutCalls = "CALL is an agent's tool call or a request, by its id in the audit log. It stands for what changed\n" +
	"between that call and the next one of its session. PATHs, in the working folder, narrow it further."

// undoStore is the store of the state folder.
func (e *env) undoStore(c *cli.Context) (*undo.Store, error) {
	s, err := e.Settings(c)
	if err != nil {
		return nil, err
	}
	dir := undo.Folder(s.StateDir)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, noRuns()
	}
	key, err := app.UndoKey(s.StateDir)
	if err != nil {
		return nil, err
	}
	return undo.Open(dir, undo.Options{Key: key})
}

func noRuns() *command.Exit {
	return &command.Exit{Code: command.ExitNothing, Text: "no run is kept", Hint: "holdgate run --undo -- CMD keeps what CMD changes"}
}

// A chosen is a run, or a part of it.
type chosen struct {
	undo.Entry
	of   undo.Selection
	call string // where it is one's
}

// choose finds what is named. What there is to say of it goes to w.
func (e *env) choose(c *cli.Context, w io.Writer, s *undo.Store) (chosen, error) {
	list, err := s.Entries()
	if err != nil {
		return chosen{}, err
	}
	id := c.Args().First()
	if id == "" {
		entry, err := lastHere(list)
		return chosen{Entry: entry}, err
	}
	var of chosen
	if i := slices.IndexFunc(list, func(e undo.Entry) bool { return e.ID == id }); i >= 0 {
		of.Entry = list[i]
	} else {
		entry, call, err := e.callNamed(c, w, list, id)
		if err != nil {
			return chosen{}, err
		}
		if call == nil {
			return chosen{}, &command.Exit{Code: command.ExitNothing, Text: fmt.Sprintf("no run or call %s is kept", holdgate.Visible(id)), Hint: "holdgate undo --list lists the runs that are"}
		}
		of = chosen{Entry: *entry, call: id, of: undo.Selection{From: call.from, To: call.to}}
	}
	for _, path := range c.Args().Tail() {
		rel := filepath.Clean(path)
		if filepath.IsAbs(rel) {
			if rel, err = filepath.Rel(of.Root, rel); err != nil {
				return chosen{}, err
			}
		}
		if !filepath.IsLocal(rel) {
			return chosen{}, command.Usage("%s lies outside of %s, in which the run worked", path, of.Root)
		}
		of.of.Paths = append(of.of.Paths, rel)
	}
	return of, nil
}

// lastHere is the last run in this folder.
func lastHere(list []undo.Entry) (undo.Entry, error) {
	here, err := filepath.EvalSymlinks(command.Absolute("."))
	if err != nil {
		return undo.Entry{}, err
	}
	for _, entry := range list {
		if entry.Root == here && !entry.Undone && entry.Undoes == "" {
			return entry, nil
		}
	}
	return undo.Entry{}, &command.Exit{Code: command.ExitNothing, Text: fmt.Sprintf("no run in %s is kept that was not taken back", here), Hint: "holdgate undo --list lists the runs in other folders, and those that took others back"}
}

func (e *env) showChanges(c *cli.Context) error {
	s, err := e.undoStore(c)
	if err != nil {
		return err
	}
	entry, err := e.choose(c, e.Stderr, s)
	if err != nil {
		return err
	}
	list, err := s.Plan(entry.ID, entry.of)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, struct {
			Run     undo.Entry    `json:"run"`
			Changes []undo.Change `json:"changes"`
		}{entry.Entry, list})
	}
	return printChanges(e.Stdout, entry, list)
}

func printChanges(w io.Writer, entry chosen, list []undo.Change) error {
	part := ""
	if entry.call != "" {
		part = "while " + holdgate.Visible(entry.call) + " ran, "
	}
	fmt.Fprintf(w, "%srun %s of %s changed %s in %s\n", part, entry.ID, holdgate.Visible(entry.Agent), undo.Summary(list), holdgate.Visible(entry.Root))
	for _, c := range list {
		if _, err := fmt.Fprintf(w, "  %s\n", c); err != nil {
			return err
		}
	}
	return nil
}

func (e *env) undoRun(c *cli.Context) error {
	s, err := e.undoStore(c)
	if err != nil {
		return err
	}
	if c.Bool("list") {
		return e.listRuns(c, s)
	}
	entry, err := e.choose(c, e.Stderr, s)
	if err != nil {
		return err
	}
	switch {
	case entry.Running:
		return &command.Exit{Code: command.ExitFailed, Text: fmt.Sprintf("run %s still goes on", entry.ID), Hint: "end the agent first: holdgate stop " + command.ShellWord(entry.Agent)}
	case entry.Undone:
		return &command.Exit{Code: command.ExitNothing, Text: fmt.Sprintf("run %s was taken back already", entry.ID), Hint: "holdgate undo --list lists the run that did it, which can be taken back itself"}
	}
	list, err := s.Plan(entry.ID, entry.of)
	if err != nil {
		return err
	}
	if len(list) == 0 && !entry.of.All() {
		return &command.Exit{Code: command.ExitNothing, Text: "nothing was changed there that was not taken back"}
	}
	out := e.Stdout
	if c.Bool("json") {
		out = e.Stderr
	}
	if err := printChanges(out, entry, list); err != nil {
		return err
	}
	if err := e.tellOthers(out, s, entry.Entry); err != nil {
		return err
	}
	if !c.Bool("yes") {
		yes, err := e.ConfirmWord(c.Context, out, "take all of this back? Type yes to do it: ", "yes")
		if errors.Is(err, command.ErrNoTerminal) {
			return command.Usage("there is no terminal to ask on: say --yes to take it back")
		}
		if err == nil && !yes {
			err = &command.Exit{Code: command.ExitFailed, Text: "nothing was taken back"}
		}
		if err != nil {
			return err
		}
	}
	if err := e.writeDown(c, entry, list); err != nil {
		return err
	}
	return e.takeBack(c, s, entry)
}

// tellOthers says which runs changed the same folder since.
func (e *env) tellOthers(w io.Writer, s *undo.Store, entry undo.Entry) error {
	list, err := s.Entries()
	if err != nil {
		return err
	}
	for _, o := range list {
		if o.ID == entry.ID || o.Undone || o.Undoes != "" || !o.Running && !o.Began.After(entry.Began) {
			continue
		}
		if inFolder(o.Root, entry.Root) || inFolder(entry.Root, o.Root) {
			state := "worked in this folder too"
			if o.Running {
				state = "works in this folder"
			}
			fmt.Fprintf(w, "note: run %s of %s %s: what it changed after this run had ended stays as it is\n", o.ID, holdgate.Visible(o.Agent), state)
		}
	}
	return nil
}

// inFolder reports whether path is dir or lies in it.
func inFolder(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// writeDown has the audit log say who takes what back, before that is done.
func (e *env) writeDown(c *cli.Context, entry chosen, list []undo.Change) error {
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	err = e.WriteUndo(c, api.Undo{Run: entry.ID, Agent: entry.Agent, Folder: entry.Root, Call: entry.call, Changes: len(list), Digest: hex.EncodeToString(sum[:])})
	if err != nil {
		return fmt.Errorf("nothing was taken back, for it could not be written to the audit log: %w", err)
	}
	return nil
}

func (e *env) takeBack(c *cli.Context, s *undo.Store, entry chosen) error {
	r, err := s.Undo(entry.ID, entry.of)
	if err != nil {
		return fmt.Errorf("%w; what was taken back until then can be brought back: holdgate undo --list", err)
	}
	if c.Bool("json") {
		if err := command.PrintJSON(e.Stdout, r); err != nil {
			return err
		}
	}
	for _, x := range r.Conflicts {
		fmt.Fprintf(e.Stderr, "stays as it is: %s: %s\n", holdgate.Visible(x.Path), x.Why)
	}
	switch {
	case c.Bool("json"):
	case r.Reversed == 0:
		fmt.Fprintln(e.Stdout, "nothing was taken back")
	default:
		fmt.Fprintf(e.Stdout, "taken back; to have the run's changes again: holdgate undo %s%s\n", r.ID, command.Again(c))
	}
	if n := len(r.Conflicts); n > 0 {
		stay := "1 path stays as it is"
		if n > 1 {
			stay = fmt.Sprintf("%d paths stay as they are", n)
		}
		return &command.Exit{Code: command.ExitFailed, Text: stay + "; what was there before the run is kept", Hint: "move them away and say the same again to bring back what was there: " + command.CommandLine(append([]string{"undo"}, c.Args().Slice()...)) + command.Again(c)}
	}
	return nil
}

func (e *env) listRuns(c *cli.Context, s *undo.Store) error {
	list, err := s.Entries()
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, list)
	}
	if len(list) == 0 {
		return noRuns()
	}
	var rows [][]string
	for _, o := range list {
		state := "ended"
		switch {
		case o.Running:
			state = "running"
		case o.Damaged != "":
			state = "damaged"
		case o.Undone:
			state = "taken back"
		case o.Undoes != "":
			state = "took back " + o.Undoes
		}
		rows = append(rows, []string{o.ID, o.Agent, state, fmt.Sprintf("%.1f MiB", float64(o.Bytes)/(1<<20)), o.Root})
	}
	for _, o := range list {
		if o.Damaged != "" {
			fmt.Fprintf(e.Stderr, "note: run %s cannot be taken back, for what says which run it is is damaged: %s\n", holdgate.Visible(o.ID), holdgate.Visible(o.Damaged))
		}
	}
	width, _ := e.Screen(e.Stdout)
	_, err = io.WriteString(e.Stdout, command.Table(width, []string{"RUN", "AGENT", "STATE", "KEPT", "FOLDER"}, rows))
	return err
}
