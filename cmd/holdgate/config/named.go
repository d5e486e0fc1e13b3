package config

import (
	"fmt"
	"maps"
	"strings"
)

// addNamed adds what --upstream and --mcp name.
func (c *Config) addNamed(f Flags) error {
	c.Upstreams, c.MCP = maps.Clone(c.Upstreams), maps.Clone(c.MCP)
	if c.Upstreams == nil {
		c.Upstreams = map[string]Upstream{}
	}
	if c.MCP == nil {
		c.MCP = map[string]MCP{}
	}
	for _, arg := range f.Upstreams {
		name, url, err := splitNamed("--upstream", arg)
		if err != nil {
			return err
		}
		c.Upstreams[name] = Upstream{URL: url}
	}
	for _, arg := range f.MCP {
		name, url, err := splitNamed("--mcp", arg)
		if err != nil {
			return err
		}
		c.MCP[name] = MCP{URL: url}
	}
	return nil
}

// splitNamed splits "NAME=URL".
func splitNamed(flag, arg string) (name, url string, err error) {
	name, url, ok := strings.Cut(arg, "=")
	if !ok || name == "" || url == "" {
		return "", "", fmt.Errorf("%s %q: want NAME=URL", flag, arg)
	}
	return name, url, nil
}
