package decide

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// digestFlag names what somebody has seen.
func digestFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "digest", Usage: "decide only if the call that you saw has this `DIGEST`, of which 12 characters are enough; " +
		"needed where there is no terminal to ask on"}
}

// yesFlag leaves the question out for those who have named what they saw.
func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Usage: "do not ask on the terminal; needs the ID and --digest"}
}

// checkYes refuses --yes of calls that nobody says to have seen.
func checkYes(c *cli.Context) error {
	if c.Bool("yes") && (!c.Args().Present() || !c.IsSet("digest")) {
		return command.Usage("--yes needs the ID and --digest: it does not say which call you have seen")
	}
	return nil
}

// letsGoOn reports whether d lets a call go on. An option that the request does
// not have is for the sidecar to refuse.
func letsGoOn(r approvals.Request, d api.Decision) bool {
	switch d.Decision {
	case holdgate.AnswerDeny, holdgate.AnswerSteer:
		return false
	case holdgate.AnswerApprove, holdgate.AnswerEdit:
		return true
	}
	i := slices.IndexFunc(r.Options, func(o holdgate.Option) bool { return o.ID == d.Choice })
	return i >= 0 && !r.Options[i].Other && (r.Options[i].Effect == "" || r.Options[i].Effect == holdgate.EffectApprove)
}

// asks reports whether a person is asked on the terminal before d is sent.
// Without a terminal a call goes on only for somebody who names its ID and its
// digest.
func (e *env) asks(c *cli.Context, id string, r approvals.Request, d api.Decision) (bool, error) {
	_, terminal := e.Terminal()
	releases := letsGoOn(r, d)
	switch {
	case terminal:
		return id == "" || releases && (!c.Bool("yes") || r.Risk == holdgate.RiskCritical), nil
	case id == "" && d.Decision == holdgate.AnswerDeny:
		return false, nil // nothing goes on by it
	case id == "":
		return false, unseen(fmt.Sprintf("%s needs the ID", d.Decision), string(d.Decision), r)
	case releases && !c.IsSet("digest"):
		return false, unseen(fmt.Sprintf("%s needs the digest of what was seen", d.Decision), string(d.Decision), r)
	}
	return false, nil
}

// confirm asks on the terminal whether to send d. What is typed to let a call go on is the
// same on every terminal screen: see [host.Word]. Another answer is typed as it is called.
func (e *env) confirm(ctx context.Context, w io.Writer, r approvals.Request, d api.Decision) error {
	words := []string{string(d.Decision)[:1], string(d.Decision)}
	if letsGoOn(r, d) {
		words = typed(host.Word(r))
	}
	return e.confirmBy(ctx, w, r, again(r), d.Decision, words)
}

// typed is what a person may type to let a call go on: the word in full, if it takes one.
func typed(word string) []string {
	if word == "" {
		return []string{"a", "approve"}
	}
	return []string{word}
}

// confirmBy asks on the terminal whether the request is answered so, and takes one of the words.
func (e *env) confirmBy(ctx context.Context, w io.Writer, r approvals.Request, what page.Line, answer holdgate.Answer, words []string) error {
	asks := fmt.Sprintf("%s this call? Type %s to do it, anything else to leave it pending:", answer, strings.Join(words, " or "))
	yes, err := e.ConfirmWord(ctx, w, e.question(w, asks, what), words...)
	if err == nil && !yes {
		err = &command.Exit{Code: command.ExitFailed, Text: "nothing was decided; " + r.ID + " stays pending"}
	}
	return err
}

// question is a question below what it is about, as wide as the terminal.
func (e *env) question(w io.Writer, asks string, about ...page.Line) string {
	width, _ := e.Screen(w)
	return strings.TrimSuffix(page.Text(append(about, page.Line{Text: asks}), width, false), "\n") + " "
}

// again says once more what is decided: the page before the question may have gone off the
// top of the terminal.
func again(r approvals.Request) page.Line {
	what := command.Known(string(r.Risk)) + " risk"
	if r.Briefing.Undo != "" {
		what += ", " + r.Briefing.Undo
	}
	return page.Line{Text: what + ": " + holdgate.Visible(r.Briefing.Summary)}
}

// unseen is the error of a command that would let requests go on without a
// terminal to ask on.
func unseen(needs, name string, list ...approvals.Request) *command.Exit {
	x := command.Usage("without a terminal to ask on, %s", needs)
	x.Hint = "holdgate show ID prints the call and its digest; then: holdgate " + name
	if len(list) > maxNamed {
		x.Hint += " ID... --digest DIGEST..., with a --digest for each ID"
		return x
	}
	for _, r := range list {
		x.Hint += " " + r.ID
	}
	x.Hint += strings.Repeat(" --digest DIGEST", len(list))
	return x
}

// checkDigests refuses to decide calls other than those that somebody says to
// have seen: each digest that is given is of a request in the list, and each
// request has one of them. Where none is given, what is shown now is what counts.
func checkDigests(c *cli.Context, list ...approvals.Request) error {
	given := c.StringSlice("digest")
	if !c.IsSet("digest") {
		return nil
	}
	if len(given) > len(list) {
		return command.Usage("%d digests are given for %d calls", len(given), len(list))
	}
	for _, seen := range given {
		if least := len(list[0].Call.Digest.Short()); len(seen) < least {
			return command.Usage("--digest %q is too short: give %d characters or more", seen, least)
		}
		if !slices.ContainsFunc(list, func(r approvals.Request) bool { return strings.HasPrefix(string(r.Call.Digest), seen) }) {
			return notSeen(list[0].ID, fmt.Sprintf("%s is not the digest of %s: it is not the call that you saw", seen, ids(list, " or ")))
		}
	}
	for _, r := range list {
		if !slices.ContainsFunc(given, func(seen string) bool { return strings.HasPrefix(string(r.Call.Digest), seen) }) {
			return notSeen(r.ID, "no --digest is that of "+r.ID+": it is not a call that you saw")
		}
	}
	return nil
}

func notSeen(id, text string) *command.Exit {
	return &command.Exit{Code: command.ExitFailed, Text: text, Hint: "nothing was decided; look again with: holdgate show " + id}
}

// maxNamed is how many requests a hint or an error names: the rest is counted.
const maxNamed = 3

// ids names requests.
func ids(list []approvals.Request, between string) string {
	var names []string
	for _, r := range list[:min(len(list), maxNamed)] {
		names = append(names, r.ID)
	}
	said := strings.Join(names, between)
	if n := len(list) - len(names); n > 0 {
		said += fmt.Sprintf(" and %d more, which holdgate pending lists", n)
	}
	return said
}
