package proxytest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/rego"
)

// Policy decides by words in the call, so that a test says in the call
// what becomes of it.
const Policy = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

text := sprintf("%v %v %v", [
	object.get(input, ["tool", "arguments"], ""),
	object.get(input, ["model", "name"], ""),
	object.get(input, ["http", "path"], ""),
])

decision := {"action": "deny", "rule": "test.deny", "reason": "it says forbidden"} if {
	contains(text, "forbidden")
} else := {"action": "hold", "rule": "test.hold", "reason": "it says gated"} if {
	contains(text, "gated")
}
`

// WithShippedPolicy decides by the pack that Holdgate ships.
func WithShippedPolicy() Option {
	return func(c *proxy.Config) {
		e, err := shippedPolicy()
		if err != nil {
			panic(err)
		}
		c.Engine = e
	}
}

// shippedPolicy is one engine for all tests: to load the pack takes longer than most of them.
var shippedPolicy = sync.OnceValues(func() (*rego.Engine, error) {
	return rego.Open(context.Background(), rego.Options{Timeout: Patience})
})

// WithPolicy decides by a policy of the test's own.
func WithPolicy(t *testing.T, text string) Option {
	e := Engine(t, text)
	return func(c *proxy.Config) { c.Engine = e }
}

// Engine is one for all tests that decide by the same text: most of the time of many went into its compilation.
func Engine(t testing.TB, text string) *rego.Engine {
	t.Helper()
	open, _ := engines.LoadOrStore(text, sync.OnceValues(func() (*rego.Engine, error) {
		path := filepath.Join(t.TempDir(), "policy.rego")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
		return rego.Open(context.WithoutCancel(t.Context()), rego.Options{Path: path, Timeout: Patience})
	}))
	e, err := open.(func() (*rego.Engine, error))()
	Must(t, err)
	return e
}

// engines are the policies that were compiled, by their text.
var engines sync.Map // of the text of a policy

// WithSettings lays settings, and rules where there are some, over the shipped
// pack. Tests that say the same share an engine: to compile the pack takes
// longer than most of them.
func WithSettings(t *testing.T, settings string, rules ...string) Option {
	t.Helper()
	open, _ := opened.LoadOrStore(settings+strings.Join(rules, ""), sync.OnceValues(func() (*rego.Engine, error) {
		dir := t.TempDir()
		Must(t, os.WriteFile(filepath.Join(dir, "settings.yaml"), []byte("settings:\n"+settings), 0o600))
		for i, text := range rules {
			Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("rules%d.rego", i)), []byte(text), 0o600))
		}
		return rego.Open(context.WithoutCancel(t.Context()), rego.Options{Path: dir, Timeout: Patience})
	}))
	e, err := open.(func() (*rego.Engine, error))()
	Must(t, err)
	return func(c *proxy.Config) { c.Engine = e }
}

var opened sync.Map // of the text of settings and rules

// AllowEverything is a policy that does.
func AllowEverything(t *testing.T) *rego.Engine {
	return Engine(t, "package holdgate\n\nimport rego.v1\n\ndecision := {\"action\": \"allow\", \"rule\": \"test.all\"}\n")
}
