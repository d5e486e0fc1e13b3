package config_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

const hash = `"9c5b0000000000000000000000000000000000000000000000000000000000aa"`

func TestAgentsAndCredentialsAreRead(t *testing.T) {
	c, err := load(t, `
listen: {agents_socket: agents.sock}
agents:
  reviewer: {token_sha256: `+hash+`, labels: {team: a}, uid: 1001}
  builder: {service_accounts: [ci/builder]}
kubernetes: {audience: holdgate, issuer: "https://cluster.example", keys: keys.json}
credentials:
  anthropic: {hosts: [api.anthropic.com], header: x-api-key, env: KEY}
  registry: {hosts: ["registry.example.com:5000", "http://127.0.0.1:9"], form: basic, file: registry.key, agents: ["claude*"]}
`, config.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	k := c.Credentials["anthropic"].WithDefaults()
	if k.Form != "plain" || k.Placeholder != config.Placeholder || k.Timeout == 0 || k.For == 0 {
		t.Errorf("a header of its own: %+v", k)
	}
	if got := (config.Credential{}).WithDefaults(); got.Form != "bearer" || got.Header != "Authorization" {
		t.Errorf("Authorization: %+v", got)
	}
	for _, path := range []string{c.Credentials["registry"].File, c.Kubernetes.Keys, c.Listen.AgentsSocket} {
		if !strings.HasPrefix(path, "/") {
			t.Errorf("%s is not relative to the file", path)
		}
	}
}

func TestFaultsOfAgentsAndCredentials(t *testing.T) {
	for _, tt := range []struct{ text, says string }{
		{"agents: {default: {token_sha256: " + hash + "}}", "default is who shows nothing"},
		{"agents: {A: {token_sha256: " + hash + "}}", "agents.A: the name must be"},
		{"agents: {a: {labels: {x: y}}}", "holdgate agents add a"},
		{"agents: {a: {token_sha256: " + hash + "}, b: {token_sha256: " + hash + "}}", "agents.b.token_sha256: is also that of agents.a"},
		{"agents: {a: {token_sha256: " + hash + ", uid: 1}}", "needs listen.agents_socket"},
		{"listen: {agents_socket: /s}\nagents: {a: {uid: 1}}", "needs a token_sha256"},
		{"agents: {a: {service_accounts: [ci/a]}}", "needs kubernetes"},
		{"kubernetes: {api_server: \"https://k\"}", "kubernetes.audience"},
		{"kubernetes: {audience: h}", "want api_server, or issuer and keys"},
		{"kubernetes: {audience: h, api_server: \"https://k\", issuer: i, keys: k}", "want api_server, or issuer and keys"},
		{"kubernetes: {audience: h, api_server: \"http://k\"}", "want https"},
		{"kubernetes: {audience: h, issuer: \"https://i\"}", "set together"},
		{"agents: {a: {service_accounts: [a]}}\nkubernetes: {audience: h, api_server: \"https://k\"}", "not NAMESPACE/NAME"},
		{"credentials: {a: {env: A}}", "credentials.a.hosts"},
		{"credentials: {a: {hosts: [x]}}", "want one of env, file and command"},
		{"credentials: {a: {hosts: [x], env: A, file: f}}", "want one of env, file and command"},
		{"credentials: {a: {hosts: [\"http://x\"], env: A}}", "want https"},
		{"credentials: {a: {hosts: [\"https://x/path\"], env: A}}", "is not HOST"},
		{"credentials: {a: {hosts: [\"https://u:p@x\"], env: A}}", "is not HOST"},
		{"credentials: {a: {hosts: [x], env: A, form: query}}", "credentials.a.form"},
		{"credentials: {a: {hosts: [x], env: A, header: Host}}", "no header that a credential can be in"},
		{"credentials: {a: {hosts: [x], env: A, header: \"a b\"}}", "no header that a credential can be in"},
		{"credentials: {a: {hosts: [x], command: [c], timeout: 5m}}", "1m at most"},
		{"credentials: {a: {hosts: [x], env: A, agents: [\"[\"]}}", "cannot be read"},
		{"credentials: {a: }", "says nothing"},
	} {
		if _, err := load(t, tt.text+"\n", config.Flags{}); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want %q", tt.text, err, tt.says)
		}
	}
}

func TestFaultsOfAgentsThatAskByAuthZEN(t *testing.T) {
	_, err := load(t, `
listen: {authzen_url: "pdp"}
agents:
  one: {token_sha256: `+hash+`, authzen: {subject: maybe, wait: 2h}}
mcp: {authzen: {url: "https://mcp.example.com"}}
`, config.Flags{})
	if err == nil {
		t.Fatal("it is read")
	}
	for _, want := range []string{"agents.one.authzen.subject", "agents.one.authzen.wait", "mcp.authzen", "listen.authzen_url"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no fault of %s: %v", want, err)
		}
	}
	c, err := load(t, `agents: {one: {token_sha256: `+hash+`, authzen: {}}, two: {token_sha256: `+strings.Replace(hash, "9c", "9d", 1)+`}}`, config.Flags{})
	if err != nil || c.Agents["one"].AuthZEN == nil || c.Agents["two"].AuthZEN != nil {
		t.Errorf("who may ask: %+v %v", c.Agents, err)
	}
}
