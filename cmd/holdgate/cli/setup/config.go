package setup

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// configCommand is about the configuration that a running sidecar goes by.
func configCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "config",
		UsageText:   "holdgate config",
		Usage:       "say which configuration is in force, and what waits for acceptance",
		Flags:       []cli.Flag{command.JSONFlag()},
		Subcommands: []*cli.Command{configAcceptCommand(e), configSchemaCommand(e)},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return command.Usage("config takes no arguments, got %q", c.Args().First())
			}
			sc, err := e.Sidecar(c)
			if err != nil {
				return err
			}
			defer sc.Close()
			s, err := sc.Config(c.Context)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return command.PrintJSON(e.Stdout, s)
			}
			return printConfig(e.Stdout, s, command.Again(c))
		},
	}
}

func configSchemaCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "schema",
		UsageText: "holdgate config schema > holdgate.schema.json",
		Usage:     "print the JSON schema of holdgate.yaml, for editors",
		Description: "Editors that speak YAML's language server take it by a first line in holdgate.yaml:\n" +
			"# yaml-language-server: $schema=holdgate.schema.json",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "the same: a schema is always JSON"}},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return command.Usage("config schema takes no arguments, got %q", c.Args().First())
			}
			return command.PrintJSON(e.Stdout, config.Schema())
		},
	}
}

func configAcceptCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "accept",
		UsageText: "holdgate config accept $(sha256sum ~/.config/holdgate/holdgate.yaml | cut -c-64)",
		Usage:     "put the configuration's file in force that waits",
		ArgsUsage: "DIGEST",
		Description: "A file that gives somebody more than before waits until a person of the role admin\n" +
			"accepts it. DIGEST is that of the file, as holdgate config and sha256sum print it:\n" +
			"what is accepted is what was looked at.",
		Flags: []cli.Flag{command.JSONFlag()},
		Action: func(c *cli.Context) error {
			digest := strings.ToLower(c.Args().First())
			if c.NArg() != 1 || len(digest) != 64 {
				return command.Usage("config accept needs the digest of the file that waits: holdgate config prints it")
			}
			sc, err := e.Sidecar(c)
			if err != nil {
				return err
			}
			defer sc.Close()
			s, err := sc.AcceptConfig(c.Context, digest)
			if p, ok := errors.AsType[*api.Problem](err); ok && p.Word() == api.ProblemNotEntitled {
				x := command.Explain(err)
				x.Hint = "nothing was changed; --token-file acts as somebody else"
				return x
			}
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return command.PrintJSON(e.Stdout, s)
			}
			_, err = fmt.Fprintf(e.Stdout, "in force: %s\n", digest)
			return err
		},
	}
}

// printConfig prints what is in force and what is not. more is what a suggested
// command needs to find the same sidecar.
func printConfig(w io.Writer, s api.ConfigState, more string) error {
	file := s.File
	if file == "" {
		file = "no file"
	}
	text := "in force: " + file
	if s.Digest != "" {
		text += ", " + s.Digest
	}
	if _, err := fmt.Fprintln(w, holdgate.Visible(text)); err != nil {
		return err
	}
	if s.Fault != "" {
		if _, err := fmt.Fprintf(w, "the file as it is now is not taken: %s\n", lines(s.Fault)); err != nil {
			return err
		}
	}
	if len(s.NeedsRestart) > 0 {
		if _, err := fmt.Fprintln(w, "changed, and takes a restart: "+holdgate.Visible(strings.Join(s.NeedsRestart, ", "))); err != nil {
			return err
		}
	}
	return command.PrintWaiting(w, s, more)
}

// lines is a text of several lines, each of which is shown safely.
func lines(text string) string {
	all := strings.Split(text, "\n")
	for i, l := range all {
		all[i] = holdgate.Visible(l)
	}
	return strings.Join(all, "\n  ")
}
