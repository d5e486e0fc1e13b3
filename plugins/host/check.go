package host

import (
	"encoding/json"
	"net"
	"strings"
	"syscall"
)

// InUse reports whether a channel could not be started because something listens where it
// would, as the same channel of a sidecar that runs does.
func InUse(err error) bool {
	return err != nil && strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) // it comes from another process
}

// Beside is the channel as it can be checked while a sidecar runs it: where it would listen, it
// takes any free port.
func (c Channel) Beside() Channel {
	var config map[string]any
	if err := json.Unmarshal(c.Config, &config); err != nil {
		return c
	}
	listen, ok := config["listen"].(string)
	host, _, err := net.SplitHostPort(listen)
	if !ok || err != nil {
		return c
	}
	config["listen"] = net.JoinHostPort(host, "0")
	if changed, err := json.Marshal(config); err == nil {
		c.Config = changed
	}
	return c
}
