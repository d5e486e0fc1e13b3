package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/plugins/host"
)

// buildHost makes ready to run the channels that the configuration names.
func (a *App) buildHost(s *state) error {
	if len(a.c.Plugins) == 0 {
		return nil
	}
	c := host.Config{Queue: a.queue, Key: s.key(purposeNonce), Logger: a.log, Page: a.requestPage, OnTold: a.metrics.Told}
	var err error
	if c.Channels, err = Channels(a.c, a.o.PluginArgs); err != nil {
		return err
	}
	c.Routes = func() []host.Route { return a.current.Load().routes }
	a.host, err = host.New(c)
	return err
}

// Channels are the channels that the configuration names. One without a command
// is built in: it is this program, started anew with the arguments.
func Channels(c config.Config, builtin []string) (all []host.Channel, err error) {
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		p := c.Plugins[name]
		settings, err := json.Marshal(p.Config.Reveal())
		if err != nil {
			return nil, fmt.Errorf("plugins.%s.config: %w", name, err)
		}
		ch := host.Channel{Name: name, Command: p.Command, SHA256: p.SHA256, Config: settings, PerMinute: p.PerMinute}
		if len(ch.Command) == 0 {
			ch.Command = append(slices.Clone(builtin), name)
		}
		if q := p.Quiet; q != nil {
			h, err := hours(&q.Hours)
			if err != nil {
				return nil, fmt.Errorf("plugins.%s.quiet: %w", name, err)
			}
			ch.Quiet = &host.Quiet{Hours: *h, Pass: []string{"critical"}}
			if q.Pass != nil {
				ch.Quiet.Pass = *q.Pass
			}
		}
		all = append(all, ch)
	}
	return all, nil
}

// routes say who is told of what.
func routes(c config.Config) (all []host.Route, err error) {
	for i, r := range c.Routes {
		m := r.Match
		one := host.Route{
			Match: host.Match{Risks: m.Risk, Rules: m.Rules, Gates: m.Gates, Tools: m.Tools, Agents: m.Agents, Roles: m.Roles},
			Steps: []host.Step{{Channels: r.Tell, People: r.People, Roles: r.Roles}},
		}
		if one.Match.Hours, err = hours(m.Hours); err != nil {
			return nil, fmt.Errorf("routes[%d].match.hours: %w", i, err)
		}
		for _, n := range r.Then {
			one.Steps = append(one.Steps, host.Step{After: time.Duration(n.After), Channels: n.Tell, People: n.People, Roles: n.Roles})
		}
		all = append(all, one)
	}
	return all, nil
}

func hours(h *config.Hours) (*host.Hours, error) {
	if h == nil {
		return nil, nil
	}
	zone, err := h.Location()
	if err != nil {
		return nil, err
	}
	out := &host.Hours{From: time.Duration(h.From), To: time.Duration(h.To), Zone: zone}
	for _, d := range h.Days {
		out.Days = append(out.Days, time.Weekday(d))
	}
	return out, nil
}

// channels is what the approvers' API asks of the channels.
type channels struct{ a *App }

// List implements [api.Plugins].
func (c channels) List() []api.Plugin {
	list := []api.Plugin{}
	if c.a.host == nil {
		return list
	}
	for _, s := range c.a.host.Status() {
		list = append(list, api.Plugin{Name: s.Name, State: string(s.State), Since: s.Since, Assurance: s.Assurance, Restarts: s.Restarts, Error: s.Err, Waiting: s.Waiting, Told: s.Told, Quiet: s.Quiet})
	}
	return list
}

// Send implements [api.Plugins].
func (c channels) Send(ctx context.Context, name string) error {
	if c.a.host == nil {
		return api.ErrNoPlugin
	}
	err := c.a.host.Send(ctx, name)
	if errors.Is(err, host.ErrNoChannel) {
		return api.ErrNoPlugin
	}
	return err
}
