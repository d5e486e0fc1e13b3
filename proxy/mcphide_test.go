package proxy_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/rego"
)

// withSettings lays settings, and rules where there are some, over the shipped
// pack.
func withSettings(t *testing.T, settings string, rules ...string) gateOption {
	t.Helper()
	e := openSettings(t, settings, rules...)
	return func(c *proxy.Config) { c.Engine = e }
}

func openSettings(t *testing.T, settings string, rules ...string) *rego.Engine {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "settings.yaml"), []byte("settings:\n"+settings), 0o600))
	for _, text := range rules {
		must(t, os.WriteFile(filepath.Join(dir, "rules.rego"), []byte(text), 0o600))
	}
	e, err := rego.Open(context.WithoutCancel(t.Context()), rego.Options{Path: dir, Timeout: 5 * time.Second})
	must(t, err)
	return e
}

func TestToolsThatSettingsRefuseCanBeHidden(t *testing.T) {
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
