package start

import (
	"fmt"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// networkHoles are what the configuration lets through unseen.
func networkHoles(c config.Config) []string {
	var open []string
	for _, p := range c.PassThrough {
		what := "connections are passed on as they come, and nobody sees what is in them (pass_through)"
		if p.CallsUnseen {
			what += ", tool calls included (calls_unseen)"
		}
		open = append(open, fmt.Sprintf("%s: %s", p.Host, what))
	}
	if c.UpstreamProxy.Lookup == config.LookupProxy {
		open = append(open, "the upstream proxy looks names up: one that it finds at a private address is reached (upstream_proxy.lookup)")
	}
	return open
}
