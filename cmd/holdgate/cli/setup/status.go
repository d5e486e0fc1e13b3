package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

const (
	promptFor = 500 * time.Millisecond // that a shell's prompt waits for the sidecar
	probeFor  = 5 * time.Second        // that a probe does
)

// mostAgents is how many agents status names.
const mostAgents = 5

// statusCommand says how the sidecar is.
func statusCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "status",
		UsageText: "holdgate status --short",
		Usage:     "say whether a sidecar runs, and how much waits",
		Description: "--short is for prompts and status lines: one line, such as \"2 waiting\", within half a\n" +
			"second. It prints nothing where no sidecar runs, and exits 0.\n" +
			"--alive and --ready are for probes, as Kubernetes has them: they exit 1 where the sidecar\n" +
			"is to be started anew, or can decide no call now, and say why.",
		Flags: []cli.Flag{
			command.JSONFlag(),
			&cli.BoolFlag{Name: "short", Usage: "one line, for prompts"},
			&cli.BoolFlag{Name: "alive", Usage: "ask whether it runs as it should, as /healthz says"},
			&cli.BoolFlag{Name: "ready", Usage: "ask whether it decides calls now, as /readyz says"},
		},
		Action: func(c *cli.Context) error {
			forms := 0
			for _, name := range []string{"json", "short", "alive", "ready"} {
				if c.Bool(name) {
					forms++
				}
			}
			switch {
			case c.Args().Present():
				return command.Usage("status takes no arguments, got %q", c.Args().First())
			case forms > 1:
				return command.Usage("status takes one of --short, --json, --alive and --ready")
			case c.Bool("short"):
				return e.shortStatus(c)
			case c.Bool("alive"):
				return e.probe(c, "alive", (*client.Client).Alive)
			case c.Bool("ready"):
				return e.probe(c, "ready", (*client.Client).Ready)
			}
			sc, err := e.Sidecar(c)
			if err != nil {
				return err
			}
			defer sc.Close()
			st, err := sc.Status(c.Context)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return command.PrintJSON(e.Stdout, st)
			}
			seen, err := sc.Agents(c.Context)
			if err != nil {
				seen = nil // the rest is worth saying without them
			}
			return e.printStatus(st, seen, time.Now())
		},
	}
}

// probe prints a word where the sidecar says yes, and fails with its reason where it says no.
func (e *env) probe(c *cli.Context, word string, ask func(*client.Client, context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.Context, probeFor)
	defer cancel()
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	if err := ask(sc, ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.Stdout, word)
	return err
}

// shortStatus prints one line, or nothing where nobody is there to say it.
func (e *env) shortStatus(c *cli.Context) error {
	ctx, cancel := context.WithTimeout(c.Context, promptFor)
	defer cancel()
	sc, err := e.Sidecar(c)
	if err == nil {
		defer sc.Close()
		var st api.Status
		if st, err = sc.Status(ctx); err == nil {
			line := fmt.Sprintf("%d waiting", st.Pending)
			if st.Health != api.Healthy {
				line += ", " + holdgate.Visible(st.Health)
			}
			_, err = fmt.Fprintln(e.Stdout, line)
			return err
		}
	}
	if _, none := errors.AsType[*client.NoSidecarError](err); none {
		return nil
	}
	word := "no access" // the sidecar's answer is another than wanted, or there is no token to ask with
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Word() == api.ProblemStandby {
		word = "standing by"
	}
	if ctx.Err() != nil {
		word = "no answer"
	}
	_, err = fmt.Fprintln(e.Stdout, "holdgate: "+word)
	return err
}

func (e *env) printStatus(st api.Status, seen []agents.Agent, now time.Time) error {
	var lines []page.Line
	field := func(name, format string, args ...any) {
		lines = append(lines, page.Line{Label: fmt.Sprintf("%-10s ", name), Text: holdgate.Visible(fmt.Sprintf(format, args...))})
	}
	field("health", "%s", st.Health)
	field("waiting", "%d", st.Pending)
	seen = slices.DeleteFunc(seen, func(a agents.Agent) bool { return a.LastSeen.IsZero() })
	slices.SortFunc(seen, func(a, b agents.Agent) int { return b.LastSeen.Compare(a.LastSeen) })
	for i, a := range seen {
		if i == mostAgents {
			field("", "and %d more: holdgate agents", len(seen)-i)
			break
		}
		field("agent", "%s, last heard of %s", a.ID, command.Ago(now, a.LastSeen))
	}
	for _, u := range st.Unreached {
		field("NO ANSWER", "%s", unreached(u, now))
	}
	if !st.StartedAt.IsZero() {
		field("started", "%s ago", command.Short(now.Sub(st.StartedAt)))
	}
	field("version", "%s", st.Version)
	policy := "the shipped pack"
	if st.Policy.Path != "" {
		policy = st.Policy.Path
	}
	field("policy", "%s, %s", policy, command.Known(st.Policy.Mode))
	if st.Policy.Revision != "" {
		field("", "revision %s", st.Policy.Revision)
	}
	if st.Policy.Refused != "" {
		field("", "as it is now it does NOT load, and the one before stays: %s", st.Policy.Refused)
	}
	for _, l := range st.Listeners {
		field("listens", "%s for %s", l.Addr, l.Name)
	}
	if st.You != "" {
		field("you", "%s", st.You)
	}
	width, colour := e.Screen(e.Stdout)
	_, err := fmt.Fprint(e.Stdout, page.Text(lines, width, colour))
	return err
}

// unreached says which host gives an agent no answer.
func unreached(u api.Unreached, now time.Time) string {
	times := "1 request"
	if u.Times != 1 {
		times = fmt.Sprintf("%d requests", u.Times)
	}
	text := fmt.Sprintf("from %s to %s of %s, the last one %s: %s", u.Host, times, u.Agent, command.Ago(now, u.At), u.Why)
	if u.Hint != "" {
		text += ". " + u.Hint
	}
	return text
}
