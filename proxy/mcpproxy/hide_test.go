package mcpproxy_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate/proxy/route"
)

func TestToolsThatSettingsRefuseCanBeHidden(t *testing.T) {
	t.Parallel()
	const hide = "  mcp: {hide_denied: true}\n"
	for name, c := range map[string]struct{ settings, gone string }{
		"not set":               {"  tools: {files/rm: deny}\n", ""},
		"by name":               {hide + "  tools: {files/rm: deny}\n", "rm"},
		"on any server":         {hide + "  tools: {'*/rm': deny}\n", "rm"},
		"of the whole server":   {hide + "  tools: {'files/*': deny, files/ls: ask}\n", "rm cp"},
		"for the agent":         {hide + "  agents: {default: {tools: {files/cp: deny}}}\n", "cp"},
		"all but one":           {hide + "  tools: {'*': deny, files/ls: auto}\n", "rm cp"},
		"all, by what they do":  {hide + "  tools: {'*': deny}\n  categories: {read: auto}\n", ""},
		"an agent's word alone": {hide + "  tools: {files/rm: deny}\n  agents: {default: {tools: {files/rm: auto}}}\n", "rm"},
		"lifted":                {hide + "  tools: {files/rm: deny}\n  exceptions: [{rule: tools.setting, match: {session: s}, reason: r}]\n", ""},
	} {
		if testing.Short() && name != "not set" && name != "by name" {
			continue // each compiles a pack, and differs from these in policy alone
		}
		t.Run(name, func(t *testing.T) {
			for _, typ := range []string{"", route.TypeEvents} {
				g, s := newToolGate(t, proxytest.WithSettings(t, c.settings))
				s.Typ = typ
				s.Lists(proxytest.Tool("ls", "lists"), proxytest.Tool("rm", "<i>removes</i>"), proxytest.Tool("cp", "copies"))
				got := g.ListTools(t)
				for _, tool := range []string{"ls", "rm", "cp"} {
					if shown := strings.Contains(got, `{"name":"`+tool+`", "description":"`); shown == strings.Contains(c.gone, tool) {
						t.Errorf("%s of %s is shown: %v in %s", tool, typ, shown, got)
					}
				}
				if c.gone == "" && !strings.Contains(got, *s.List.Load()) {
					t.Errorf("the list did not pass as it came: %s", got)
				}
			}
		})
	}
}

func TestAHiddenToolIsStillRefused(t *testing.T) {
	t.Parallel()
	g, s := newToolGate(t, proxytest.WithSettings(t, "  tools: {files/rm: deny}\n  mcp: {hide_denied: true}\n"))
	s.Lists(proxytest.Tool("ls", "lists"), proxytest.Tool("rm", "removes"))
	g.ListTools(t)
	if got := <-calling(g, proxytest.CallOf("rm", "{}"), nil); !strings.Contains(got, "tools.setting") || !strings.Contains(got, "isError") {
		t.Errorf("got %s", got)
	}
	if n := len(s.Calls.Bodies); n != 0 {
		t.Errorf("the server was called %d times", n)
	}
}
