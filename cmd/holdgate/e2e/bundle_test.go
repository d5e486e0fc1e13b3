package e2e_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unbundled is every file of a report, by its name.
func unbundled(t *testing.T, name string) map[string]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for list := tar.NewReader(zip); ; {
		h, err := list.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(list)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(h.Name, "holdgate-report/")] = string(b)
	}
}

// bundleCanaries stand wherever a sidecar is told something, as tokens and as words
// that look like any other.
const bundleCanaries = `
upstreams:
  quokkaupstream: {url: "http://127.0.0.1:9/canaryUpstream0001/quokkapath"}
mcp:
  quokkaserver: {command: [/nonexistent/quokkacommand, canaryArgument0002], env: {QUOKKA_NAME: quokkaenv}}
credentials:
  quokkacredential: {hosts: [quokka.example.com], env: QUOKKA_VARIABLE, placeholder: quokkaplaceholder}
people:
  ada: {roles: [approve, admin]}
  quokkaperson: {roles: [approve], channels: {webhook: quokkamail@example.com}}
  grace: {roles: [approve], channels: {webhook: hopper}}
agents:
  quokkaagent: {token_sha256: "9c5b94b1ab1d1b8a9c5b94b1ab1d1b8a9c5b94b1ab1d1b8a9c5b94b1ab1d1b8a", labels: {quokkalabel: quokkavalue}}
approver: ada
plugins:
  webhook: {config: {url: "http://127.0.0.1:9/quokkahook", secret_file: SECRET}}
gates:
  quokkagate: {message: "quokkamessage canaryGate0003"}
pass_through: [{host: quokkapass.example.com}]
`

// Nothing that a sidecar was told is in a report, and what helps is.
func TestAReportHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	secret := write(t, "quokkafile", "canaryWebhook0004canaryWebhook0004")
	file := write(t, "holdgate.yaml", strings.ReplaceAll(bundleCanaries, "SECRET", quoted(secret)))
	p := newProvider(t)
	p.calls = func(command string) []call { return []call{{id: "toolu_1", command: command}} }
	env := []string{"QUOKKA_VARIABLE=quokkasecret", "HTTPS_PROXY=http://quokkauser:canaryProxy0005@127.0.0.1:9"}
	s := serve(t, env, "--config", file, "--upstream", "anthropic="+p.URL)
	turnWithKey(t, s, "rm -rf quokkafolder canaryCall0006")
	s.held("rm -rf quokkafolder canaryCall0006")
	got := <-turnWithKey(t, s, "echo quokkaecho canaryPassing0007")
	if !strings.Contains(got, "quokkaecho") {
		t.Errorf("the call that passes did not: %s", got)
	}
	for _, name := range []string{"quokkaupstream", "canaryUnknown0008"} { // fails, and is refused
		if resp, err := http.Get(s.base(name) + "/v1/models?key=canaryQuery0009"); err == nil {
			resp.Body.Close()
		}
	}
	page := s.visitPage() // people come and go, and the log tells of them
	page.post("/people", "name", "mallory", "role", "approve")
	page.post("/people/mallory", "action", "remove")
	page.post("/people/grace", "action", "remove")
	until(t, "a line about who was removed", func() bool { return strings.Contains(s.log(), "ada removed grace") })
	until(t, "a line about the upstream that fails", func() bool { return strings.Contains(s.log(), "the upstream failed") })

	name := filepath.Join(t.TempDir(), "report.tar.gz")
	said := s.must("doctor", "--config", file, "--bundle", name)
	files := unbundled(t, name)
	for file, want := range map[string]string{
		"build.json": `"platform"`, "machine.json": `"confinements"`, "config.yaml": "decisions_per_second: \"100\"",
		"status.json": `"healthy": true`, "store.json": `"kind": "badger"`, "channels.json": `"webhook"`,
		"metrics.txt": `holdgate_decisions_total{action="hold",kind="tool_call"`, "log.txt": "the upstream failed",
		"process.json": `"goroutines"`, "goroutines.txt": "goroutine profile",
	} {
		if !strings.Contains(files[file], want) {
			t.Errorf("%s does not hold %s:\n%.2000s", file, want, files[file])
		}
		if !strings.Contains(said, "  "+file+" (") {
			t.Errorf("the command does not name %s: %s", file, said)
		}
	}
	holdsNone(t, s, files)
	for name, text := range files {
		if m := regexp.MustCompile(`(?i)\b(ada|grace|hopper|mallory)\b`).FindString(text); m != "" {
			t.Errorf("%s names %s", name, m)
		}
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode: %v, %v", info.Mode(), err)
	}
	if r := s.run("doctor", "--bundle", name); r.code != 2 || !strings.Contains(r.stderr, "is there already") {
		t.Errorf("a file that is there: %v", r)
	}
	s.stop()

	// Without a sidecar, and with a configuration that does not load.
	name = filepath.Join(t.TempDir(), "stopped.tar.gz")
	if said := s.must("doctor", "--config", file, "--bundle", name); !strings.Contains(said, "No sidecar told of itself") {
		t.Errorf("nothing says that no sidecar answered: %s", said)
	}
	files = unbundled(t, name)
	if !strings.Contains(files["config.yaml"], "decisions_per_second") || files["no-sidecar.txt"] == "" {
		t.Errorf("without a sidecar it holds %v", files)
	}
	holdsNone(t, s, files)
	broken := write(t, "broken.yaml", "quokkakey: quokkavalue canaryBroken0010\n")
	name = filepath.Join(t.TempDir(), "broken.tar.gz")
	s.must("doctor", "--config", broken, "--bundle", name)
	files = unbundled(t, name)
	if !strings.Contains(files["config.txt"], "unknown key") {
		t.Errorf("of a broken configuration it says %q", files["config.txt"])
	}
	holdsNone(t, s, files)
}

// holdsNone looks for canaries, for the state folder's keys, and for this place.
func holdsNone(t *testing.T, s *sidecar, files map[string]string) {
	t.Helper()
	searched := []string{"quokka", "QUOKKA", "canary", s.dir, os.TempDir() + "/", "9c5b94b1"}
	for key := range keyFiles {
		b, err := os.ReadFile(filepath.Join(s.dir, key))
		if err != nil {
			t.Fatal(err)
		}
		searched = append(searched, strings.TrimSpace(string(b)))
	}
	for file, text := range files {
		for _, secret := range searched {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s holds %q: ...%s...", file, secret, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
}
