package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/holdgate/holdgate/plugins/host"
)

// buildHost makes ready to run the channels that the configuration names. One
// without a command is built in: it is this program, started anew.
func (a *App) buildHost(s *state) error {
	if len(a.c.Plugins) == 0 {
		return nil
	}
	c := host.Config{Queue: a.queue, Key: s.key(purposeNonce), Logger: a.log}
	for _, name := range slices.Sorted(maps.Keys(a.c.Plugins)) {
		p := a.c.Plugins[name]
		settings, err := json.Marshal(map[string]any(p.Config))
		if err != nil {
			return fmt.Errorf("plugins.%s.config: %w", name, err)
		}
		ch := host.Channel{Name: name, Command: p.Command, SHA256: p.SHA256, Config: settings}
		if len(ch.Command) == 0 {
			ch.Command = append(slices.Clone(a.o.PluginArgs), name)
		}
		c.Channels = append(c.Channels, ch)
	}
	var err error
	a.host, err = host.New(c)
	return err
}
