package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An openIDProvider is npm's oidc-provider on loopback.
type openIDProvider struct {
	t      *testing.T
	issuer string
	groups string // the file of them
	cmd    *exec.Cmd
}

// startProvider starts a provider that knows the redirect URI.
func startProvider(t *testing.T, redirect string) *openIDProvider {
	t.Helper()
	dir := os.Getenv("HOLDGATE_CLIENTS")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "oidc-provider")); dir == "" || err != nil {
		t.Skip("SKIPPED: HOLDGATE_CLIENTS has no oidc-provider (npm install in testdata/clients)")
	}
	script, err := filepath.Abs("../../../testdata/clients/oidc.mjs")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(dir, fmt.Sprintf("oidc-%d.mjs", os.Getpid())) // where node finds the package
	if err := os.WriteFile(beside, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p := &openIDProvider{t: t, groups: filepath.Join(t.TempDir(), "groups.json")}
	p.grants(nil)
	p.cmd = exec.Command("node", beside, redirect, p.groups)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(); _ = os.Remove(beside) })
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the provider does not start")
	}
	p.issuer = lines.Text()
	return p
}

func (p *openIDProvider) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// grants says which groups people have.
func (p *openIDProvider) grants(groups map[string][]string) {
	p.t.Helper()
	raw, err := json.Marshal(groups)
	if err == nil {
		err = os.WriteFile(p.groups, raw, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

var (
	formAction = regexp.MustCompile(`<form[^>]*action="([^"]*)"`)
	formPrompt = regexp.MustCompile(`name="prompt" value="([^"]*)"`)
)

// signIn signs somebody in at the provider, as a browser does, and returns the page
// after it. Where alter is set it changes where the provider sends the browser back to.
func (p *openIDProvider) signIn(s *sidecar, who string, alter func(*url.URL)) (*pageVisit, int, string) {
	p.t.Helper()
	link, err := url.Parse(strings.TrimSpace(s.must("open", "--print")))
	if err != nil {
		p.t.Fatal(err)
	}
	page := &pageVisit{s: s, host: link.Host}
	resp := page.do(http.MethodGet, "/open/provider?back=/people", nil)
	state, _, _ := strings.Cut(resp.Header.Get("Set-Cookie"), ";")
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), p.issuer) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err = client.Get(resp.Header.Get("Location"))
	for range 5 {
		if err != nil {
			p.t.Fatal(err)
		}
		text := body(p.t, resp)
		back, _ := resp.Location()
		if back != nil {
			if alter != nil {
				alter(back)
			}
			page.cookie = state
			resp := page.do(http.MethodGet, back.RequestURI(), nil)
			for _, c := range resp.Header.Values("Set-Cookie") {
				if strings.HasPrefix(c, "holdgate=") {
					page.cookie, _, _ = strings.Cut(c, ";")
				}
			}
			return page, resp.StatusCode, html.UnescapeString(body(p.t, resp))
		}
		action, prompt := formAction.FindStringSubmatch(text), formPrompt.FindStringSubmatch(text)
		if action == nil || prompt == nil {
			p.t.Fatalf("the provider shows no form:\n%s", text)
		}
		resp, err = client.PostForm(action[1], url.Values{"prompt": {prompt[1]}, "login": {who}, "password": {"any"}})
	}
	p.t.Fatal("the provider goes round in a circle")
	return nil, 0, ""
}

// People sign in at a provider; their groups give them roles, for as long as the
// provider says so.
func TestPeopleSignInAtAProvider(t *testing.T) {
	t.Parallel()
	at := unusedAddr(t) // the provider must know the port
	state := stateDir(t)
	first := serveIn(t, state, nil, "--approvers", at) // makes the page's name
	link, err := url.Parse(strings.TrimSpace(first.must("open", "--print")))
	if err != nil {
		t.Fatal(err)
	}
	first.stop()
	provider := startProvider(t, "http://"+link.Host+"/open/provider/back")
	secret := write(t, "client.secret", "the client's secret\n")
	rules := write(t, "risks.rego", `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "risks.rest"}

decision := {"action": "hold", "rule": "risks.high", "risk": "high"} if contains(input.tool.arguments.command, "echo high")

decision := {"action": "hold", "rule": "risks.low", "risk": "low"} if contains(input.tool.arguments.command, "echo low")
`)
	model := newProvider(t)
	config := fmt.Sprintf(`approver: ada
people:
  ada: {roles: [approve, admin]}
  carol: {roles: [operate], channels: {oidc: carol@example.com}}
oidc:
  issuer: %s
  client_id: holdgate
  client_secret_file: %s
  roles: {sre: [approve], security: [security], leads: [admin]}
  reread: 1s
`, provider.issuer, secret)
	s := &configured{serveIn(t, state, nil, "--config", write(t, "holdgate.yaml", config), "--approvers", at, "--policy", rules, "--upstream", "anthropic="+model.URL), ""}

	provider.grants(map[string][]string{"bob@example.com": {"sre"}, "carol@example.com": {"sre", "security"}, "eve@example.com": {"others"}, "ada": {"leads"}, "unverified@example.com": {"leads"}})
	bob, status, text := provider.signIn(s.sidecar, "bob@example.com", nil)
	if status != http.StatusOK || !strings.Contains(bob.get("/people"), "signed in at the provider") {
		t.Fatalf("bob signs in: %d\n%s", status, text)
	}
	for who, says := range map[string]string{"eve@example.com": "no group of eve@example.com has a role", "ada": "nobody here is linked", "unverified@example.com": "has not verified"} {
		if page, status, text := provider.signIn(s.sidecar, who, nil); status != http.StatusForbidden || !strings.Contains(text, says) || strings.HasPrefix(page.cookie, "holdgate=") && page.do(http.MethodGet, "/", nil).StatusCode == http.StatusOK {
			t.Errorf("%s: %d\n%s", who, status, text)
		}
	}
	for name, alter := range map[string]func(*url.URL){
		"another state":  func(u *url.URL) { q := u.Query(); q.Set("state", "x"); u.RawQuery = q.Encode() },
		"another code":   func(u *url.URL) { q := u.Query(); q.Set("code", "x"); u.RawQuery = q.Encode() },
		"another issuer": func(u *url.URL) { q := u.Query(); q.Set("iss", "http://127.0.0.1:1"); u.RawQuery = q.Encode() },
	} {
		if _, status, text := provider.signIn(s.sidecar, "bob@example.com", alter); status != http.StatusForbidden {
			t.Errorf("%s: %d\n%s", name, status, text)
		}
	}
	// A person of the configuration has the roles of their groups besides their own.
	carol, status, text := provider.signIn(s.sidecar, "carol@example.com", nil)
	if status != http.StatusOK {
		t.Fatalf("carol signs in: %d\n%s", status, text)
	}
	approves := func(p *pageVisit, command string) int {
		t.Helper()
		answer := s.asks(command)
		r := s.held(command)
		status, _ := p.post("/requests/"+r.ID, "decision", "approve", "sure", "1", "digest", r.Call.Digest)
		if status == http.StatusSeeOther {
			<-answer.ended
		}
		return status
	}
	if got := approves(bob, "echo high 1"); got != http.StatusSeeOther {
		t.Errorf("bob approves what is of high risk: %d", got)
	}
	if got := approves(carol, "echo low 1"); got != http.StatusSeeOther {
		t.Errorf("carol approves by her group's role: %d", got)
	}
	// A group that is gone is noticed before an approval of high risk, and soon anyway.
	provider.grants(map[string][]string{"bob@example.com": {"others"}, "carol@example.com": {"others"}})
	if got := approves(bob, "echo high 2"); got == http.StatusSeeOther {
		t.Error("bob approves what is of high risk without the group")
	}
	until(t, "carol without her group's roles", func() bool {
		return slices.ContainsFunc(s.entries(), func(e entry) bool {
			return e.Type == "people" && strings.Contains(e.Note, "groups of carol@example.com at the provider give no role; before: the roles approve, security")
		})
	})
	if got := approves(carol, "echo low 2"); got != http.StatusForbidden {
		t.Errorf("carol approves without her group's role: %d", got)
	}
	// Unreachable, nothing of high risk is approved by those who have signed in there.
	provider.grants(map[string][]string{"bob@example.com": {"sre"}})
	bob, status, text = provider.signIn(s.sidecar, "bob@example.com", nil)
	if status != http.StatusOK {
		t.Fatalf("bob signs in again: %d\n%s", status, text)
	}
	provider.stop()
	if got := approves(bob, "echo high 3"); got != http.StatusForbidden {
		t.Errorf("bob approves what is of high risk while the provider is down: %d", got)
	}
	if got := approves(bob, "echo low 3"); got != http.StatusSeeOther {
		t.Errorf("bob approves what is of low risk while the provider is down: %d", got)
	}
	s.must("audit", "verify")
}
