package proxy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/rego"
)

// withSettings lays settings, and rules where there are some, over the shipped
// pack. Tests that say the same share an engine: to compile the pack takes
// longer than most of them.
func withSettings(t *testing.T, settings string, rules ...string) gateOption {
	t.Helper()
	open, _ := opened.LoadOrStore(settings+strings.Join(rules, ""), sync.OnceValues(func() (*rego.Engine, error) {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "settings.yaml"), []byte("settings:\n"+settings), 0o600))
		for i, text := range rules {
			must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("rules%d.rego", i)), []byte(text), 0o600))
		}
		return rego.Open(context.WithoutCancel(t.Context()), rego.Options{Path: dir, Timeout: patience})
	}))
	e, err := open.(func() (*rego.Engine, error))()
	must(t, err)
	return func(c *proxy.Config) { c.Engine = e }
}

var opened sync.Map // of the text of settings and rules

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
				g, s := newToolGate(t, withSettings(t, c.settings))
				s.typ = typ
				s.says(toolNamed("ls", "lists"), toolNamed("rm", "<i>removes</i>"), toolNamed("cp", "copies"))
				got := g.lists(t)
				for _, tool := range []string{"ls", "rm", "cp"} {
					if shown := strings.Contains(got, `{"name":"`+tool+`", "description":"`); shown == strings.Contains(c.gone, tool) {
						t.Errorf("%s of %s is shown: %v in %s", tool, typ, shown, got)
					}
				}
				if c.gone == "" && !strings.Contains(got, *s.list.Load()) {
					t.Errorf("the list did not pass as it came: %s", got)
				}
			}
		})
	}
}

func TestAHiddenToolIsStillRefused(t *testing.T) {
	t.Parallel()
	g, s := newToolGate(t, withSettings(t, "  tools: {files/rm: deny}\n  mcp: {hide_denied: true}\n"))
	s.says(toolNamed("ls", "lists"), toolNamed("rm", "removes"))
	g.lists(t)
	if got := <-g.calling(named("rm", "{}"), nil); !strings.Contains(got, "tools.setting") || !strings.Contains(got, "isError") {
		t.Errorf("got %s", got)
	}
	if n := len(s.calls.bodies); n != 0 {
		t.Errorf("the server was called %d times", n)
	}
}
