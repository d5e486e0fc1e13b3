package app

import (
	"cmp"
	"os"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/proxy/mcpproxy"
)

// defaultProcesses is how many processes of one MCP server run at most, where
// the configuration does not say.
const defaultProcesses = 16

// command is an MCP server that the proxy starts. Of Holdgate's own environment
// it gets PATH alone, and that only where the configuration names none.
func command(m config.MCP) mcpproxy.Command {
	c := mcpproxy.Command{Args: m.Command, Dir: m.Dir, Processes: cmp.Or(m.Processes, defaultProcesses)}
	for name, value := range m.Env {
		c.Env = append(c.Env, name+"="+value)
	}
	if _, ok := m.Env["PATH"]; !ok {
		c.Env = append(c.Env, "PATH="+os.Getenv("PATH"))
	}
	return c
}
