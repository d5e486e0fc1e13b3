package setup

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/cmd/holdgate/run"
	"github.com/holdgate/holdgate/plugins"
	"github.com/holdgate/holdgate/plugins/host"
)

func pluginCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "plugin",
		Usage: "list and check the channels to people",
		Subcommands: []*cli.Command{
			{
				Name:      "list",
				UsageText: "holdgate plugin list",
				Usage:     "list the channels of the running sidecar, and how they do",
				Flags:     []cli.Flag{command.JSONFlag()},
				Action:    e.listPlugins,
			},
			{
				Name:        "check",
				UsageText:   "holdgate plugin check slack",
				Usage:       "start a channel, hand it its configuration, and ask whether it reaches people",
				ArgsUsage:   "[NAME]",
				Description: "Checks every channel of the configuration where none is named. It needs no sidecar,\nand tells no person of anything. The receiver of a webhook is sent a test event, and\nhas to take it.",
				Action:      e.checkPlugins,
			},
			{
				Name:      "send",
				UsageText: "holdgate plugin send slack",
				Usage:     "show people a test message in a channel of the running sidecar",
				ArgsUsage: "NAME",
				Action:    e.sendPlugin,
			},
			{
				Name:        "serve",
				Hidden:      true, // the sidecar calls it
				Usage:       "serve a channel that is built in; the sidecar starts it",
				ArgsUsage:   "NAME",
				Description: "Built in: " + strings.Join(plugins.Names(), ", ") + ".",
				Action:      e.servePlugin,
			},
		},
	}
}

func (e *env) servePlugin(c *cli.Context) error {
	if c.NArg() != 1 {
		return command.Usage("plugin serve takes the name of one channel: %s", strings.Join(plugins.Names(), " or "))
	}
	if err := plugins.Serve(c.Args().First()); err != nil {
		return command.Usage("%v", err)
	}
	return nil
}

func (e *env) listPlugins(c *cli.Context) error {
	if c.Args().Present() {
		return command.Usage("plugin list takes no arguments, got %q", c.Args().First())
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	list, err := sc.Plugins(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return command.PrintJSON(e.Stdout, list)
	}
	return printPlugins(e.Stdout, list, time.Now())
}

// printPlugins prints how each channel does.
func printPlugins(w io.Writer, list []api.Plugin, now time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no channels are configured: see plugins in the configuration")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CHANNEL\tSTATE\tFOR\tASSURANCE\tTOLD\tWAITING\tRESTARTS\tNOTE")
	for _, p := range list {
		note := p.Error
		if note == "" && !p.Quiet.IsZero() {
			note = "quiet until " + p.Quiet.Local().Format(time.DateTime)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", holdgate.Visible(p.Name), holdgate.Visible(p.State), command.Short(now.Sub(p.Since)),
			holdgate.Visible(p.Assurance), p.Told, p.Waiting, p.Restarts, holdgate.Visible(note))
	}
	return t.Flush()
}

func (e *env) checkPlugins(c *cli.Context) error {
	if c.NArg() > 1 {
		return command.Usage("plugin check takes the name of one channel, or none for all")
	}
	s, err := e.Settings(c)
	if err != nil {
		return err
	}
	args, err := run.PluginArgs()
	if err != nil {
		return err
	}
	all, err := app.Channels(s, args)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	if name := c.Args().First(); name != "" {
		all = slices.DeleteFunc(all, func(ch host.Channel) bool { return ch.Name != name })
		if len(all) == 0 {
			return fmt.Errorf("no channel %q is configured: see plugins in the configuration", holdgate.Visible(name))
		}
	}
	failed := 0
	for _, ch := range all {
		result := "ok"
		err := host.Check(c.Context, ch, e.Logger("error"), plugins.ToPrograms()...)
		if host.InUse(err) && e.isRunning(c, ch.Name) {
			result = "ok, beside the sidecar that runs it"
			err = host.Check(c.Context, ch.Beside(), e.Logger("error"), plugins.ToPrograms()...)
		}
		if err != nil {
			failed++
			result = err.Error()
		}
		if _, err := fmt.Fprintf(e.Stdout, "%s: %s\n", ch.Name, result); err != nil {
			return err
		}
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%d of %d channels cannot work like this", failed, len(all))
	case len(all) == 0:
		_, err = fmt.Fprintln(e.Stdout, "no channels are configured: see plugins in the configuration")
	default:
		_, err = fmt.Fprintln(e.Stdout, "This check sent no message to people. To send one, start the sidecar and run: holdgate plugin send NAME")
	}
	return err
}

// isRunning reports whether a sidecar runs here and has the channel running.
func (e *env) isRunning(c *cli.Context, name string) bool {
	sc, err := e.Sidecar(c)
	if err != nil {
		return false
	}
	defer sc.Close()
	list, err := sc.Plugins(c.Context)
	return err == nil && slices.ContainsFunc(list, func(p api.Plugin) bool { return p.Name == name && p.State == string(host.StateRunning) })
}

func (e *env) sendPlugin(c *cli.Context) error {
	if c.NArg() != 1 {
		return command.Usage("plugin send takes the name of one channel")
	}
	sc, err := e.Sidecar(c)
	if err != nil {
		return err
	}
	defer sc.Close()
	name := c.Args().First()
	if err := sc.TestPlugin(c.Context, name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "%s has shown a test message\n", holdgate.Visible(name))
	return err
}
