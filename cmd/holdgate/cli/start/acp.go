package start

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/relay"
)

func acpCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "acp",
		UsageText: "holdgate acp -- gemini --acp",
		Usage:     "stand between an editor and an agent that speak ACP",
		ArgsUsage: "-- CMD ARGS",
		Description: "An editor starts this in the place of CMD, an agent. The sidecar of the state\n" +
			"folder decides each permission that the agent asks for, and each file and\n" +
			"command that it asks the editor for. If no sidecar runs, one runs here for as\n" +
			"long as CMD does. The editor shows what is held, too. You can approve there up\n" +
			"to medium risk, and always reject. Everything else passes as it comes. The exit\n" +
			"code is CMD's.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "policy", Usage: "rules of your own, where a sidecar is started: a `FILE, FOLDER or BUNDLE`"},
			&cli.BoolFlag{Name: "trust-writable-policy", Usage: "take rules, configuration and plugins that lie in the working folder"},
		},
		Action: func(c *cli.Context) error { return e.runACP(c) },
	}
}

// runACP checks the command line, finds or starts a sidecar, and runs the agent.
func (e *env) runACP(c *cli.Context) (err error) {
	if !c.Args().Present() {
		return command.Usage("acp needs a command: holdgate acp -- CMD ARGS")
	}
	program, err := exec.LookPath(c.Args().First())
	if err != nil {
		return command.Usage("%s cannot be run: %v", c.Args().First(), errors.Unwrap(err))
	}
	files, err := e.files()
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.Context) // signals are the agent's; its end is ours
	address, stop, err := e.sidecarFor(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	code, err := relay.RunACP(ctx, relay.ACPOptions{
		Program: program, Args: c.Args().Tail(), Env: os.Environ(), Stdin: files.in, Stdout: files.out, Stderr: files.err,
		Address: address, Header: e.traceHeader(), Vote: e.editorVote(c),
		Tell: func(text string) { fmt.Fprintln(files.err, "holdgate acp: "+holdgate.Visible(text)) },
	})
	if err == nil && code != 0 {
		err = &command.Exit{Code: code}
	}
	return err
}

// editorVote gives answers from the editor as the person whose token there is; nil where
// there is none, as within holdgate run.
func (e *env) editorVote(c *cli.Context) func(context.Context, string, holdgate.Digest, bool) error {
	s, err := e.Settings(c)
	if err != nil {
		return nil
	}
	options := e.Door(c, s.StateDir)
	options.Channel = api.ChannelEditor
	if door, err := client.New(options); err != nil {
		return nil
	} else {
		door.Close()
	}
	return func(ctx context.Context, request string, digest holdgate.Digest, approve bool) error {
		door, err := client.New(options) // the sidecar may have started anew, with another token
		if err != nil {
			return err
		}
		defer door.Close()
		d := api.Decision{Decision: holdgate.AnswerDeny, Reason: "rejected in the editor"}
		if approve {
			d = api.Decision{Decision: holdgate.AnswerApprove, Digest: digest}
		}
		_, err = door.Decide(ctx, request, d)
		return err
	}
}
