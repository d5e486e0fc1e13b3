package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// load writes a file and loads it.
func load(t *testing.T, text string, f config.Flags, env ...string) (config.Config, error) {
	t.Helper()
	f.Config = filepath.Join(t.TempDir(), "holdgate.yaml")
	if err := os.WriteFile(f.Config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(f, environment(env...))
}

// environment is an environment of pairs, and a home.
func environment(pairs ...string) func(string) string {
	m := map[string]string{"HOME": "/home/ada"}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) string { return m[k] }
}

func TestNoFileAtAllWorks(t *testing.T) {
	c, err := config.Load(config.Flags{}, environment())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default("/home/ada/.local/state/holdgate", c.Approver), c); diff != "" {
		t.Errorf("configuration (-default +got):\n%s", diff)
	}
	if c.Approver == "" {
		t.Error("the approver has no name")
	}
}

func TestTheWorkingDirectoryIsNotRead(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("holdgate.yaml", []byte("policy: {mode: observe}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Flags{}, environment())
	if err != nil || c.Policy.Mode != config.ModeEnforce {
		t.Errorf("mode is %s, %v: the file in the working directory was read", c.Policy.Mode, err)
	}
}

// A file at its usual place is read where nothing names another, and only where
// nobody else can have written it.
func TestTheUsualPlace(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags config.Flags
		env   []string
		spoil func(t *testing.T, file string)
		read  bool
		fault string
	}{
		{name: "below HOME", read: true},
		{name: "below XDG_CONFIG_HOME, where there is none", env: []string{"XDG_CONFIG_HOME", "/nowhere"}},
		{name: "no file wanted", flags: config.Flags{NoFile: true}},
		{name: "no file wanted, though one is named", flags: config.Flags{NoFile: true}, env: []string{config.EnvConfig, "/etc/holdgate/none.yaml"}},
		{name: "not there", spoil: func(t *testing.T, file string) { check(t, os.Remove(file)) }},
		{name: "no folder there", spoil: func(t *testing.T, file string) {
			check(t, os.RemoveAll(filepath.Dir(file)))
			check(t, os.WriteFile(filepath.Dir(file), nil, 0o600))
		}},
		{name: "the group may write it", spoil: func(t *testing.T, file string) { check(t, os.Chmod(file, 0o660)) }, fault: "chmod go-w"},
		{name: "all may write it", spoil: func(t *testing.T, file string) { check(t, os.Chmod(file, 0o602)) }, fault: "chmod go-w"},
		{name: "all may read it", spoil: func(t *testing.T, file string) { check(t, os.Chmod(file, 0o644)) }, read: true},
		{name: "all may replace it", spoil: func(t *testing.T, file string) { check(t, os.Chmod(filepath.Dir(file), 0o777)) }, fault: "chmod go-w"},
		{name: "a folder", spoil: func(t *testing.T, file string) {
			check(t, os.Remove(file))
			check(t, os.Mkdir(file, 0o700))
		}, fault: "not a regular file"},
		{name: "a pipe", spoil: func(t *testing.T, file string) {
			check(t, os.Remove(file))
			check(t, syscall.Mkfifo(file, 0o600))
		}, fault: "not a regular file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			env := environment(append([]string{"HOME", home}, tt.env...)...)
			file := filepath.Join(home, ".config", "holdgate", "holdgate.yaml")
			check(t, os.MkdirAll(filepath.Dir(file), 0o700))
			check(t, os.WriteFile(file, []byte("policy: {mode: observe, path: rules}\n"), 0o600))
			if tt.spoil != nil {
				tt.spoil(t, file)
			}
			c, err := config.Load(tt.flags, env)
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("error %v, want one with %q", err, tt.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			read := c.File == file && c.Policy.Mode == config.ModeObserve && c.Policy.Path == filepath.Join(filepath.Dir(file), "rules")
			if read != tt.read || !tt.read && c.File != "" {
				t.Errorf("file %q, mode %s; want it read: %t", c.File, c.Policy.Mode, tt.read)
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	c, err := load(t, `
listen: {agents: "127.0.0.1:1", approvers: "[::1]:2"}
state_dir: /var/lib/holdgate
policy:
  {path: /etc/holdgate/policy, mode: observe, on_error: hold, timeout: 1s, adapter: ai-sdk, query: data.agent.call.decision, opa_config: /etc/holdgate/opa.yaml,
   bundle: {key: /etc/holdgate/key.pem, algorithm: ES256, scope: prod, exclude_files: ["*.md"]}}
upstreams:
  local: {url: "http://127.0.0.1:8080/v1"}
  openai: {url: "https://proxy.example"}
plugins: {webhook: {command: [./hook, -v], sha256: `+strings.Repeat("ab", 32)+`, config: {url: "https://hooks.example"},
  per_minute: 9, quiet: {from: "22:00", to: "07:30", zone: UTC, days: [mon, Sunday], pass: []}}}
routes: [{match: {risk: [high], rules: ["a.*"], gates: [g], tools: [t], agents: [x], roles: [security], hours: {from: "09:00", to: "17:00"}}, tell: [webhook], people: [grace], roles: [admin],
  then: [{after: 5m, tell: [webhook], people: [bob]}]}]
mcp: {github: {url: "https://mcp.example/mcp"}, files: {command: [npx, -y, server], env: {TOKEN: t}, dir: /srv, processes: 3}}
limits: {body: 1MiB, call: 64KiB, redeem: 30m, grant: 12h, pending: 5, held_bytes: 2MiB, decisions_per_second: 7, log_bytes_per_hour: 3MiB, disk_reserve: 4MiB}
retention: {requests: 10d, events: 2h}
holds: {notice: true}
audit: {sync: always, inputs: none}
unsupported: allow
approver: grace
people:
  grace: {roles: [approve, admin]}
  bob: {roles: [approve, security], token_sha256: `+strings.Repeat("0d", 32)+`, channels: {webhook: bob@example.com}}
`, config.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default("/var/lib/holdgate", "grace")
	want.Listen = config.Listen{Agents: "127.0.0.1:1", Approvers: "[::1]:2"}
	want.Policy = config.Policy{
		Path: "/etc/holdgate/policy", Mode: "observe", OnError: "hold", Timeout: config.Duration(time.Second), Adapter: "ai-sdk", Query: "data.agent.call.decision", OPAConfig: "/etc/holdgate/opa.yaml",
		Bundle: config.Bundle{Key: "/etc/holdgate/key.pem", Algorithm: "ES256", Scope: "prod", Exclude: []string{"*.md"}},
	}
	want.Upstreams["local"] = config.Upstream{URL: "http://127.0.0.1:8080/v1"}
	want.Upstreams["openai"] = config.Upstream{URL: "https://proxy.example"}
	want.MCP["files"] = config.MCP{Command: []string{"npx", "-y", "server"}, Env: map[string]string{"TOKEN": "t"}, Dir: "/srv", Processes: 3}
	want.MCP["github"] = config.MCP{URL: "https://mcp.example/mcp"}
	want.Plugins["webhook"] = config.Plugin{Command: []string{"./hook", "-v"}, SHA256: strings.Repeat("ab", 32), Config: config.Settings{"url": "https://hooks.example"},
		PerMinute: 9, Quiet: &config.Quiet{Hours: config.Hours{From: config.Clock(22 * time.Hour), To: config.Clock(7*time.Hour + 30*time.Minute), Zone: "UTC", Days: []config.Day{1, 0}}, Pass: new([]string{})}}
	want.Routes = []config.Route{{
		Match: config.Match{Risk: []string{"high"}, Rules: []string{"a.*"}, Gates: []string{"g"}, Tools: []string{"t"}, Agents: []string{"x"}, Roles: []string{"security"},
			Hours: &config.Hours{From: config.Clock(9 * time.Hour), To: config.Clock(17 * time.Hour)}},
		Step: config.Step{Tell: []string{"webhook"}, People: []string{"grace"}, Roles: []string{"admin"}},
		Then: []config.Next{{After: config.Duration(5 * time.Minute), Step: config.Step{Tell: []string{"webhook"}, People: []string{"bob"}}}},
	}}
	want.Limits = config.Limits{Body: 1 << 20, Call: 64 << 10, Redeem: config.Duration(30 * time.Minute), Grant: config.Duration(12 * time.Hour),
		Pending: 5, HeldBytes: 2 << 20, Decisions: 7, LogBytes: 3 << 20, DiskReserve: 4 << 20}
	want.Retention = config.Retention{Requests: config.Duration(240 * time.Hour), Events: config.Duration(2 * time.Hour)}
	want.Holds.Notice = true
	want.Unsupported = config.UnsupportedAllow
	want.Audit = config.Audit{Sync: "always", Inputs: "none"}
	want.People = config.People{
		"grace": {Roles: []config.Role{"approve", "admin"}},
		"bob": {Roles: []config.Role{"approve", "security"}, TokenSHA256: config.TokenHash(bytes.Repeat([]byte{0x0d}, 32)),
			Channels: map[string]string{"webhook": "bob@example.com"}},
	}
	want.File, want.Digest = c.File, c.Digest
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestFlagsWinOverTheEnvironmentAndThatOverTheFile(t *testing.T) {
	file := "state_dir: /from/file\npolicy: {path: rules}\nlisten: {agents: \"127.0.0.1:1\"}\nupstreams: {openai: {url: \"https://file.example\"}}\n"
	c, err := load(t, file, config.Flags{})
	if err != nil || c.StateDir != "/from/file" || !filepath.IsAbs(c.Policy.Path) || filepath.Base(c.Policy.Path) != "rules" {
		t.Errorf("file: %q, %q, %v", c.StateDir, c.Policy.Path, err)
	}
	c, err = load(t, file, config.Flags{}, config.EnvStateDir, "/from/env")
	if err != nil || c.StateDir != "/from/env" {
		t.Errorf("environment: %q, %v", c.StateDir, err)
	}
	c, err = load(t, file, config.Flags{
		StateDir: "/from/flag", Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0", Policy: "/p",
		Upstreams: []string{"openai=http://127.0.0.1:9/a=b"}, MCP: []string{"files=http://127.0.0.1:8"},
	}, config.EnvStateDir, "/from/env")
	if err != nil {
		t.Fatal(err)
	}
	if c.StateDir != "/from/flag" || c.Listen.Agents != "127.0.0.1:0" || c.Policy.Path != "/p" {
		t.Errorf("flags: %+v", c)
	}
	if got := c.Upstreams["openai"]; got.URL != "http://127.0.0.1:9/a=b" {
		t.Errorf("--upstream: %+v", got)
	}
	if c.MCP["files"].URL != "http://127.0.0.1:8" {
		t.Errorf("--mcp: %+v", c.MCP)
	}
}

func TestFaultsNameTheirPlace(t *testing.T) {
	tests := []struct {
		name string
		file string
		want []string
	}{
		{"an unknown key", "approver: a\npolcy: {}\n", []string{`holdgate.yaml:2: unknown key "polcy"`}},
		{"an unknown key inside", "policy:\n  mod: observe\n", []string{`:2: policy: unknown key "mod": did you mean "mode"?`}},
		{"a key twice", "approver: a\napprover: b\n", []string{":2:", "already defined"}},
		{"a list for a word", "approver: [a]\n", []string{":1: approver: want a text, this is a list"}},
		{"no duration", "limits:\n  redeem: soon\n", []string{":2:", `"soon" is not a duration`, "1h30m"}},
		{"no size", "limits:\n  body: 32MB\n", []string{":2:", `"32MB" is not a size`, "32MiB"}},
		{"several at once", "limits:\n  body: big\n  redeem: soon\nfoo: 1\n", []string{":2:", ":3:", ":4:"}},
		{"two documents", "approver: a\n---\napprover: b\n", []string{"more than one document"}},
		{"no YAML", "a: [", []string{"holdgate.yaml"}},
		{"a word that is not known", "policy: {mode: watch, on_error: allow}\naudit: {sync: never, inputs: all}\nunsupported: maybe\n", []string{"policy.mode", "policy.on_error", "audit.sync", "audit.inputs", "unsupported", "holdgate.yaml:1: policy.mode: \"watch\" is none of enforce, observe", "holdgate.yaml:2: audit.sync"}},
		{"no time for policy", "policy: {timeout: 0s}\n", []string{"policy.timeout: must be from 1ms to 10s"}},
		{"an adapter without a query", "policy: {adapter: ai-sdk}\n", []string{"policy.query"}},
		{"a query without an adapter", "policy: {query: data.a.b}\n", []string{"policy.query"}},
		{"an adapter that is not known", "policy: {adapter: cedar, query: data.a.b}\n", []string{"policy.adapter", "none of ai-sdk, opa-tools"}},
		{"trust without a key", "policy: {bundle: {scope: prod}}\n", []string{"policy.bundle.key"}},
		{"addresses", "listen: {agents: \"7300\", approvers: \"example.org:x\"}\n", []string{"listen.agents", "listen.approvers", "not a port"}},
		{"one address for both", "listen: {agents: \"127.0.0.1:1\", approvers: \"127.0.0.1:1\"}\n", []string{"same address"}},
		{"formats", "upstreams: {a: {url: \"https://x\", format: acme}}\nformats: [{host: \"https://x\", path: x}, {host: \"x:1\", format: gemini}]\n",
			[]string{"upstreams.a.format: \"acme\" is none of anthropic, openai", "formats[0].host: \"https://x\" is not HOST", "formats[0].path: \"x\"", "formats[0].format: \"\" is none of"}},
		{"upstreams", "upstreams: {Up: {url: \"ftp://x\"}, a: {}, b: {url: \"https://u:p@x\"}, c: {url: \"https://x?k=1\"}}\n", []string{"upstreams.Up: the name", "upstreams.Up.url", "upstreams.a.url: must be set", "upstreams.b.url: must not hold a user", "upstreams.c.url"}},
		{"routes", "plugins: {a: {per_minute: -1, quiet: {zone: Mars/Base, pass: [big]}}}\nroutes: [{match: {risk: [huge]}}, {tell: [b], people: [eve], then: [{tell: [a]}]}]\n",
			[]string{"plugins.a.per_minute", "plugins.a.quiet.zone", "plugins.a.quiet.pass", "routes[0].tell: must name", "routes[0].match.risk", "routes[1].tell: there is no channel \"b\"", "routes[1].people", "routes[1].then[0].after"}},
		{"a risk that is none, by its line", "plugins: {terminal: {}}\nroutes:\n  - match:\n      risk: [high, severe]\n    tell: [terminal]\n",
			[]string{"holdgate.yaml:4: routes[0].match.risk: \"severe\" is none of low, medium, high, critical"}},
		{"what is missing in what is there", "people:\n  ada:\n    channels: {}\n", []string{"holdgate.yaml:2: people.ada.roles: must name"}},
		{"a number for a word", "limits: {pending: many}\nholds: {notice: 3}\nroutes: {tell: a}\npeople: [ada]\n",
			[]string{":1: limits.pending: want a whole number, this is a text", ":2: holds.notice: want true or false, this is a number", ":3: routes: want a list, this is a mapping", ":4: people: want names with values, this is a list"}},
		{"what a secret might be", "plugins: {webhook: {per_minute: hunter2}}\n", []string{":1: plugins.webhook.per_minute: want a whole number, this is a text"}},
		{"a channel that is not built in", "plugins:\n  termnal: {}\n", []string{`:2: plugins.termnal: no channel of this name is built in`, `did you mean "terminal"?`}},
		{"a gate that is none", "gates:\n  before_comit: true\n", []string{`:2: gates.before_comit: no gate has this name`, `did you mean "before_commit"?`}},
		{"a gate of one's own without a word", "gates: {ship: {timeout: 5m}}\n", []string{"gates.ship: no gate has this name, and nothing says what it asks: for a gate of your own give it a message"}},
		{"an anchor", "people:\n  ada: &a {roles: [approve], channels: {}, role: x}\n  bob: *a\n", []string{`:2: people.bob: unknown key "role"`}},
		{"no time of day", "plugins:\n  a:\n    quiet: {from: noon}\n", []string{":3:", "not a time of day"}},
		{"no day", "plugins:\n  a:\n    quiet:\n      days: [xyz]\n", []string{":4:", "not a day of the week"}},
		{"MCP servers", "mcp: {a: {}, b: {url: \"https://x\", command: [y]}, c: {command: [\"\"]}, d: {url: \"https://x\", env: {A: b}}, e: {command: [y], processes: 1001}, f: {command: [y], env: {\"A=B\": c}}}\n",
			[]string{"mcp.a.url: must be set", "mcp.b: want a url or a command", "mcp.c.command: the program is empty", "mcp.d: env, dir and processes", "mcp.e.processes: 1001", "mcp.f.env"}},
		{"plugins", "plugins: {a: {sha256: xx}, b: {command: [\"\"]}}\n", []string{"plugins.a.sha256", "plugins.b.command"}},
		{"where checkpoints go", "audit: {checkpoints: {syslog: \"http://x:1\", command: [witness]}}\n", []string{"audit.checkpoints.syslog", "audit.checkpoints.command"}},
		{"a log server without a port", "audit: {checkpoints: {syslog: \"udp://x\"}}\n", []string{"audit.checkpoints.syslog"}},
		{"what the audit log keeps", "retention: {audit: 1m, audit_bytes: 5}\naudit: {checkpoints: {url: \"ftp://x\", every: 1ms}}\n", []string{"retention.audit: must be 1h0m0s", "retention.audit_bytes: must be 1MiB", "audit.checkpoints.url", "audit.checkpoints.every"}},
		{"a page without the request", "holds: {page: \"https://x/\"}\n", []string{"holds.page", "{request}"}},
		{"a page with a user", "holds: {page: \"https://u:p@x/{request}\"}\n", []string{"holds.page", "no credential"}},
		{"a page with a token", "holds: {page: \"https://x/{request}?token=abc\"}\n", []string{"holds.page", "no credential"}},
		{"a page with a token behind it", "holds: {page: \"https://x/?r={request}#token=abc\"}\n", []string{"holds.page", "no credential"}},
		{"a page that is none", "holds: {page: \"javascript:{request}\"}\n", []string{"holds.page", "no http"}},
		{"retention", "retention: {requests: 59m, events: 0s}\n", []string{"retention.requests: must be 1h0m0s at least, not 59m0s", "retention.events"}},
		{"limits", "limits: {body: 0, call: 1, redeem: 0s, grant: 0s}\n", []string{"limits.body", "limits.redeem", "limits.grant", "limits.call"}},
		{"no name", "approver: \" \"\n", []string{"approver"}},
		{"the name of nobody", "approver: holdgate\n", []string{"approver: holdgate is the name"}},
		{"a person's unknown key", "people:\n  ada: {role: approve}\n", []string{`:2: people.ada: unknown key "role": did you mean "roles"?`}},
		{"a person's name", "people:\n  Ada Lovelace: {roles: [approve]}\n", []string{":2:", `"Ada Lovelace" is no name for a person`}},
		{"a person called policy", "people:\n  policy: {roles: [approve]}\n", []string{":2:", "without a person"}},
		{"a person twice", "people:\n  ada: {roles: [approve]}\n  ada: {roles: [admin]}\n", []string{":3:", "already defined"}},
		{"a role's name", "people:\n  ada:\n    roles:\n      - approve\n      - On Call\n", []string{":5:", `"On Call" is no name for a role`}},
		{"a token in place of its hash", "people:\n  ada:\n    roles: [approve]\n    token_sha256: hunter2\n", []string{":4:", "64 hex digits"}},
		{"an empty hash", "people:\n  ada: {token_sha256: " + strings.Repeat("0", 64) + "}\n", []string{":2:", "64 hex digits"}},
		{"people without anything", "people: {ada: {}}\n", []string{"people.ada.roles", "people.ada: has neither token_sha256 nor channels"}},
		{"one token for two", "people: {ada: {roles: [approve], token_sha256: " + strings.Repeat("ab", 32) + "}, bob: {roles: [approve], token_sha256: " + strings.Repeat("AB", 32) + "}}\n",
			[]string{"people.bob.token_sha256: is also that of people.ada"}},
		{"channels", "plugins: {webhook: {}}\npeople: {ada: {roles: [approve], channels: {webhook: u1}}, bob: {roles: [approve], channels: {webhook: u1, slack: u2}}, eve: {roles: [approve], channels: {webhook: \"\"}}}\n",
			[]string{"people.bob.channels.webhook: \"u1\" is also people.ada's", "people.bob.channels.slack: there is no channel", "people.eve.channels.webhook: must name"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.file, config.Flags{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error shows what may be a secret: %v", err)
			}
			if strings.Contains(err.Error(), "config.") {
				t.Errorf("error names a Go type: %v", err)
			}
		})
	}
	for _, f := range []config.Flags{{Upstreams: []string{"x"}}, {Upstreams: []string{"=http://x"}}, {MCP: []string{"x="}}, {Upstreams: []string{"../x=http://x"}}} {
		if _, err := config.Load(f, environment()); err == nil {
			t.Errorf("%+v: no error", f)
		}
	}
	if _, err := config.Load(config.Flags{Config: filepath.Join(t.TempDir(), "none.yaml")}, environment()); err == nil {
		t.Error("a file that is not there: no error")
	}
	if _, err := config.Load(config.Flags{}, func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "--state-dir") {
		t.Errorf("without a home: %v", err)
	}
}

// Faults come as they stand in the file, and behind them what stands elsewhere.
func TestFaultsComeInTheOrderOfTheFile(t *testing.T) {
	for name, c := range map[string]struct {
		file  string
		flags config.Flags
		want  []string
	}{
		"of values": {"approver: a\npeople:\n  ada: {roles: []}\nlimits:\n  body: 0\nroutes:\n  - match: {risk: [severe]}\n    tell: [nowhere]\nholds: {rounds: 0}\n", config.Flags{Agents: "x"},
			[]string{":3: people.ada.roles", ":5: limits.body", ":7: routes[0].match.risk", ":8: routes[0].tell", ":9: holds.rounds", "listen.agents"}},
		"of keys and kinds": {"people: {ada: &a {roles: [approve], rol: 1}}\nlimits: {pending: many}\nmcp: *a\nfoo: 1\n", config.Flags{},
			[]string{`:1: people.ada: unknown key "rol"`, ":2: limits.pending", `:4: unknown key "foo"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.file, c.flags)
			if err == nil {
				t.Fatal("no error")
			}
			said := err.Error()
			for _, want := range c.want {
				_, rest, ok := strings.Cut(said, want)
				if !ok {
					t.Fatalf("%q is not behind the others in:\n%v", want, err)
				}
				said = rest
			}
		})
	}
}

func TestSettingsOfPluginsAreNeverPrinted(t *testing.T) {
	c, err := load(t, "plugins: {webhook: {config: {key: hunter2, list: [hunter2]}}}\n", config.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, c); strings.Contains(s, "hunter2") || !strings.Contains(s, "<secret>") {
			t.Errorf("%s prints %s", verb, s)
		}
	}
	if c.Plugins["webhook"].Config.Reveal()["key"] != "hunter2" {
		t.Error("the plugin itself does not get its key")
	}
}

// A plugin gets what is written for it at every depth; whoever prints it, nothing.
func TestSettingsInsideSettingsReachThePlugin(t *testing.T) {
	c, err := load(t, `plugins: {webhook: {config: {smtp: {addr: "mx.example.com:25", auth: {user: hunter2}}, list: [{a: hunter2}, [b], 3], on: true}}}`+"\n", config.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	settings := c.Plugins["webhook"].Config
	got, err := json.Marshal(settings.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"list":[{"a":"hunter2"},["b"],3],"on":true,"smtp":{"addr":"mx.example.com:25","auth":{"user":"hunter2"}}}`; string(got) != want {
		t.Errorf("the plugin gets %s, want %s", got, want)
	}
	shown, err := json.Marshal(settings)
	if err != nil || strings.Contains(string(shown)+fmt.Sprint(settings), "hunter2") {
		t.Errorf("%s %v, %v", shown, settings, err)
	}
}

func TestHashesOfTokensAreNeverPrinted(t *testing.T) {
	hash := strings.Repeat("5e", 32)
	c, err := load(t, "people: {ada: {roles: [approve], token_sha256: "+hash+"}}\n", config.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, c); strings.Contains(s, hash) || strings.Contains(s, "94 94") || strings.Contains(s, "0x5e, 0x5e") {
			t.Errorf("%s prints %s", verb, s)
		}
	}
	if got := c.People["ada"].TokenSHA256.Hex(); got != hash {
		t.Errorf("the hash is %s, want %s", got, hash)
	}
}

func TestDurationsAndSizesReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "2d": 48 * time.Hour, "1h30m": 90 * time.Minute} {
		if d, err := config.ParseDuration(text); err != nil || time.Duration(d) != want {
			t.Errorf("%s: %v, %v", text, d, err)
		}
	}
	for text, want := range map[string]config.Size{"0": 0, "1048576": 1 << 20, "32MiB": 32 << 20, "1 GiB": 1 << 30, "12B": 12} {
		if s, err := config.ParseSize(text); err != nil || s != want {
			t.Errorf("%s: %d, %v", text, s, err)
		}
		if back, err := config.ParseSize(want.String()); err != nil || back != want {
			t.Errorf("%d is written as %s, which reads as %d, %v", want, want, back, err)
		}
	}
	for _, text := range []string{"", "-1", "1.5MiB", "9223372036854775807GiB", "MiB", "0x10"} {
		if s, err := config.ParseSize(text); err == nil {
			t.Errorf("%q reads as %d", text, s)
		}
	}
}

// Whatever the file holds, loading ends with a valid configuration or an error.
func FuzzLoad(f *testing.F) {
	f.Add("")
	f.Add("listen: {agents: \"127.0.0.1:1\"}\n")
	f.Add("limits: {body: 1MiB, redeem: 2d}\nplugins: {a: {config: {k: [1, {b: c}]}}}\n")
	f.Add("a: &a [*a]\n")
	f.Add("upstreams: {x: null}\n? [a]\n: b\n")
	f.Add("<<: {approver: x}\n")
	f.Add("people: {ada: {roles: [approve], token_sha256: " + strings.Repeat("5e", 32) + ", channels: {x: y}}, ? [a] : b}\n")
	file := filepath.Join(f.TempDir(), "holdgate.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(config.Flags{Config: file}, environment())
		if err == nil {
			if err := c.Validate(); err != nil {
				t.Errorf("%q loads and is not valid: %v", text, err)
			}
		}
	})
}
