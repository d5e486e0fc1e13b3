package decide

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// chooseCommand answers a request that offers options.
func chooseCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "choose",
		UsageText: "holdgate choose f33xjt-my5d7g-tshyjw staging",
		Usage:     "answer a request that offers options",
		ArgsUsage: "[ID] OPTION",
		Description: "OPTION is an option's id. With --other it may be left out: the text is the\n" +
			"answer then. ID may be left out as with approve. An option that lets the call go\n" +
			"on is asked about on a terminal, and needs --digest without one, as with approve.",
		Flags: []cli.Flag{
			messageFlag(), digestFlag(), yesFlag(), command.JSONFlag(),
			&cli.StringFlag{Name: "other", Usage: "answer with a `TEXT` of your own, where an option allows it"},
		},
		Action: func(c *cli.Context) error {
			d := api.Decision{Decision: holdgate.AnswerChoose, Reason: c.String("reason"), Instructions: c.String("other")}
			words, id := c.Args().Slice(), ""
			switch {
			case len(words) == 2:
				id, d.Choice = words[0], words[1]
			case len(words) == 1 && c.IsSet("other"):
				id = words[0]
			case len(words) == 1:
				d.Choice = words[0]
			case len(words) > 2 || !c.IsSet("other"):
				return command.Usage("choose takes an ID and an option")
			}
			if c.IsSet("other") && strings.TrimSpace(d.Instructions) == "" {
				return command.Usage("--other needs a text")
			}
			return e.release(c, id, d)
		},
	}
}

// otherOption is the option whose answer is a text of one's own.
func otherOption(r approvals.Request) (string, error) {
	i := slices.IndexFunc(r.Options, func(o holdgate.Option) bool { return o.Other })
	if i < 0 {
		return "", &command.Exit{Code: command.ExitFailed, Text: "request " + r.ID + " has no option for a text of your own", Hint: "holdgate show " + r.ID}
	}
	return r.Options[i].ID, nil
}
