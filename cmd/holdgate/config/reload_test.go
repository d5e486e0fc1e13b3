package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

const (
	hashA = "aa00000000000000000000000000000000000000000000000000000000000000"
	hashB = "bb00000000000000000000000000000000000000000000000000000000000000"
	hashC = "cc00000000000000000000000000000000000000000000000000000000000000"

	twoPeople = "approver: ada\npeople: {ada: {roles: [approve, admin]}, bob: {roles: [approve], token_sha256: " + hashB + "}}\n"
	channels  = "plugins: {bell: {command: [/bin/bell]}, horn: {command: [/bin/horn]}}\n"
	told      = channels + "routes: [{match: {risk: [high]}, tell: [bell], then: [{after: 5m, tell: [horn]}]}]\n"
	held      = "credentials: {api: {hosts: [api.example.com], env: KEY}}\n"
)

func says(t *testing.T, text string) config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "holdgate.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Flags{Config: file}, environment())
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return c
}

func TestWhatLoosensAConfigurationIsTold(t *testing.T) {
	for _, c := range []struct {
		name, was, is string
		loosens       string // of what it says; empty: nothing
	}{
		{"nothing differs", twoPeople, "# a remark\n" + twoPeople, ""},
		{"a person goes", twoPeople, "approver: ada\npeople: {ada: {roles: [approve, admin]}}\n", ""},
		{"a role goes", twoPeople, strings.Replace(twoPeople, "approve, admin", "approve", 1), ""},
		{"one person in place of nobody", "approver: ada\n", "approver: ada\npeople: {ada: {roles: [approve]}}\n", ""},
		{"everybody goes", twoPeople, "approver: ada\n", "nobody is named any more"},
		{"the file is empty", twoPeople, "", "nobody is named any more"},
		{"a person comes", twoPeople, strings.Replace(twoPeople, "people: {", "people: {cyd: {roles: [operate], token_sha256: "+hashC+"}, ", 1), "cyd, known by a token of their own, gets the role operate"},
		{"a role comes", twoPeople, strings.Replace(twoPeople, "bob: {roles: [approve", "bob: {roles: [approve, admin", 1), "bob, known by a token of their own, gets the role admin too"},
		{"a token is another", twoPeople, strings.Replace(twoPeople, hashB, hashC, 1), "bob, known by a token of their own"},
		{"two people change their tokens' names", twoPeople, strings.Replace(twoPeople, "bob:", "cyd:", 1), "a token of their own is that of cyd; before: of bob"},
		{"the folder's token is somebody else's", twoPeople, "approver: bob\npeople: {bob: {roles: [approve, admin], token_sha256: " + hashB + "}}\n", "the state folder's token is that of bob; before: of ada"},
		{"the approver is no longer named", twoPeople, "approver: ada\npeople: {bob: {roles: [approve], token_sha256: " + hashB + "}}\n", "operate too"},
		{"a passkey comes", twoPeople, strings.Replace(twoPeople, "token_sha256", "passkeys: [\"SHA256:"+strings.Repeat("A", 43)+"\"], token_sha256", 1), "bob, known by a passkey, gets the role approve"},
		{"a user of a channel comes", channels + twoPeople, channels + strings.Replace(twoPeople, "token_sha256", "channels: {bell: b}, token_sha256", 1), "known by a user of bell"},
		{"routes come", channels, told, "routes are changed"},
		{"routes go", told, channels, "no routes any more"},
		{"a route tells more", told, strings.Replace(told, "tell: [bell]", "tell: [bell, horn]", 1), ""},
		{"a route tells sooner", told, strings.Replace(told, "5m", "1m", 1), ""},
		{"a route tells later", told, strings.Replace(told, "5m", "1h", 1), "routes are changed"},
		{"a route tells fewer", told, strings.Replace(told, ", then: [{after: 5m, tell: [horn]}]", "", 1), "routes are changed"},
		{"a route is for less", told, strings.Replace(told, "[high]", "[critical]", 1), "routes are changed"},
		{"a credential comes", "", held, "credential api is added"},
		{"a credential goes", held, "", "credential api is removed"},
		{"a credential is from elsewhere", held, strings.Replace(held, "env: KEY", "command: [print]", 1), "credential api is changed"},
		{"a credential is for fewer", held, strings.Replace(held, "env: KEY", "env: KEY, agents: [a]", 1), ""},
		{"a credential is for more", strings.Replace(held, "env: KEY", "env: KEY, agents: [a]", 1), held, "credential api is changed"},
		{"an agent comes", "", "agents: {a: {token_sha256: " + hashA + "}}\n", ""},
		{"an agent comes that may use a credential", held, held + "agents: {a: {token_sha256: " + hashA + "}}\n", "may use the credentials api"},
		{"an agent's token is another", "agents: {a: {token_sha256: " + hashA + "}}\n", "agents: {a: {token_sha256: " + hashB + "}}\n", "agent a is changed"},
		{"an agent has a label", "agents: {a: {token_sha256: " + hashA + "}}\n", "agents: {a: {labels: {team: x}, token_sha256: " + hashA + "}}\n", ""},
		{"an agent goes", "agents: {a: {token_sha256: " + hashA + "}}\n", "", ""},
		{"a gate is switched on", "", "gates: {before_commit: true}\n", ""},
		{"an agent may have more waiting", "limits: {pending: 2}\n", "limits: {pending: 3}\n", "limits.pending is 3, and was 2"},
		{"an agent may have less waiting", "limits: {pending: 3}\n", "limits: {pending: 2}\n", ""},
		{"more of an agent is kept", "limits: {held_bytes: 1MiB}\n", "limits: {held_bytes: 2MiB}\n", "limits.held_bytes is 2MiB, and was 1MiB"},
		{"less of an agent is kept", "limits: {held_bytes: 2MiB}\n", "limits: {held_bytes: 1MiB}\n", ""},
		{"an agent may ask faster", "limits: {decisions_per_second: 2}\n", "", "limits.decisions_per_second is 100, and was 2"},
		{"an agent may ask less fast", "", "limits: {decisions_per_second: 2}\n", ""},
		{"an agent may write more", "limits: {log_bytes_per_hour: 1MiB}\n", "limits: {log_bytes_per_hour: 2MiB}\n", "limits.log_bytes_per_hour is 2MiB, and was 1MiB"},
		{"an agent may write less", "limits: {log_bytes_per_hour: 2MiB}\n", "limits: {log_bytes_per_hour: 1MiB}\n", ""},
		{"a price comes, and what was unknown is 0", "", "prices: {models: {\"*\": {input: 0, output: 0}}}\n", "prices are changed"},
		{"a price goes", "prices: {models: {\"*\": {input: 3, output: 15}}}\n", "", "prices are changed"},
		{"all gates go", "gates: {before_commit: true}\n", "", "no gates any more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			was, is := says(t, c.was), says(t, c.is)
			got := config.Compare(was, was.With(is))
			if text := strings.Join(got.Loosens, "\n"); !strings.Contains(text, c.loosens) || c.loosens == "" && text != "" {
				t.Errorf("it loosens by %q, want %q; all that differs: %q", got.Loosens, c.loosens, got.Lines)
			}
			if same := c.name == "nothing differs"; got.Empty() != same {
				t.Errorf("what differs is %q", got.Lines)
			}
			for _, line := range slices.Concat(got.Lines, got.Loosens) {
				if strings.Contains(line, "0000") {
					t.Errorf("a hash stands in %q", line)
				}
			}
		})
	}
}

func TestWhatNeedsARestartIsNamed(t *testing.T) {
	was, is := says(t, twoPeople+channels), says(t, `
listen: {approvers: "127.0.0.1:9999"}
limits: {pending: 5, redeem: 2h}
plugins: {bell: {command: [/bin/other]}, slack: {}}
policy: {bundle: {key: k}}
`)
	want := []string{"listen.approvers", "policy.bundle.key", "plugins.bell", "plugins.horn", "plugins.slack", "limits.redeem"}
	if got := config.NeedsRestart(was, is); !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := config.NeedsRestart(was, was.With(is)); len(got) > 0 {
		t.Errorf("what can be replaced needs a restart: %q", got)
	}
}
