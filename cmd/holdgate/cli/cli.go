// Package cli is the command line and no more: the table of the commands, their
// help and their completion. Each command is a file of a package below, which reads
// its arguments, calls the package that does the work, and prints. What they share
// is in command; exit codes are in command/exit.go.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // routes and quiet hours name zones, and containers have none

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// Main runs the command line of this process and returns the exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return execute(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
}

// Every help is written by this one function.
func init() { cli.HelpPrinter = printHelp }

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	e := &env{&command.Env{Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: os.Getenv}}
	app := &cli.App{
		Name:           "holdgate",
		Usage:          "hold an agent's risky calls until a person decides",
		Flags:          globalFlags(),
		Commands:       commands(e),
		Version:        command.Version(),
		HideVersion:    true, // there is a command
		Writer:         stdout,
		ErrWriter:      stderr,
		ExitErrHandler: func(*cli.Context, error) {}, // execute alone maps errors to exit codes
		OnUsageError:   usageFault,
		Action:         group,
		// A text may hold commas; what can be repeated is.
		DisableSliceFlagSeparator: true,
	}
	if len(args) == 2 && args[1] == "--version" { // as every other program has it
		args = []string{args[0], "version"}
	}
	return e.Report(app.RunContext(ctx, interspersed(app, args)))
}
