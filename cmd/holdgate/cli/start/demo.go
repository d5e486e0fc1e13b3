package start

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
	"github.com/holdgate/holdgate/cmd/holdgate/demo"
	"github.com/holdgate/holdgate/cmd/holdgate/run"
)

func demoCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "demo",
		UsageText: "holdgate demo --decide deny",
		Usage:     "see a call held and decide it: no key, no network",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "decide", Usage: "answer by itself: `approve, deny or steer`"},
		},
		Action: func(c *cli.Context) error { return e.demo(c) },
	}
}

func (e *env) demo(c *cli.Context) error {
	width, _ := e.Screen(e.Stdout)
	o := demo.Options{Decide: holdgate.Answer(c.String("decide")), Out: e.Stdout, Width: width, App: app.Options{Version: command.Version(), Logger: e.Logger("error")}}
	switch o.Decide {
	case holdgate.AnswerApprove, holdgate.AnswerDeny, holdgate.AnswerSteer:
	case "":
		f, ok := e.Stdin.(*os.File)
		if !ok || !term.IsTerminal(int(f.Fd())) {
			return &command.Exit{Code: command.ExitUsage, Text: "there is no terminal to ask on", Hint: "say the answer beforehand: holdgate demo --decide approve|deny|steer"}
		}
		tty, err := deviceOf(f)
		if err != nil {
			return err
		}
		o.TTY = tty
	default:
		return command.Usage("--decide %q: want approve, deny or steer", o.Decide)
	}
	var err error
	if exe, err := os.Executable(); err == nil && confine.Check(confine.Strong, []string{exe, confine.Command}) == nil {
		o.Program = exe
	}
	if o.App.PluginArgs, err = run.PluginArgs(); err != nil {
		return err
	}
	return demo.Run(c.Context, o)
}

// deviceOf is the device of an open terminal, such as /dev/pts/3: the channel
// that asks is another process and opens it by name.
func deviceOf(f *os.File) (string, error) {
	for _, fds := range []string{"/proc/self/fd", "/dev/fd"} {
		name, err := os.Readlink(fmt.Sprintf("%s/%d", fds, f.Fd()))
		if err == nil && strings.HasPrefix(name, "/dev/") {
			return name, nil
		}
	}
	return "", &command.Exit{Code: command.ExitFailed, Text: "the terminal's device has no name here", Hint: "say the answer beforehand: holdgate demo --decide approve|deny|steer"}
}
