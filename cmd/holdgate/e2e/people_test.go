package e2e_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A pageVisit is a browser without scripts on the page of a sidecar.
type pageVisit struct {
	s      *sidecar
	host   string
	cookie string
}

// visitPage signs in on the page by a one-time link.
func (s *sidecar) visitPage() *pageVisit {
	s.t.Helper()
	link, err := url.Parse(strings.TrimSpace(s.must("open", "--print")))
	if err != nil {
		s.t.Fatal(err)
	}
	p := &pageVisit{s: s, host: link.Host}
	resp := p.do(http.MethodPost, "/open", url.Values{"code": {link.Fragment}})
	if resp.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("signing in: %s", resp.Status)
	}
	p.cookie, _, _ = strings.Cut(resp.Header.Get("Set-Cookie"), ";")
	return p
}

// do asks the page; where form is not nil it posts it.
func (p *pageVisit) do(method, path string, form url.Values) *http.Response {
	p.s.t.Helper()
	req, err := http.NewRequest(method, "http://"+p.s.approvers+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.s.t.Fatal(err)
	}
	req.Host = p.host
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	req.Header.Set("Cookie", p.cookie)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		p.s.t.Fatal(err)
	}
	p.s.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (p *pageVisit) get(path string) string { return body(p.s.t, p.do(http.MethodGet, path, nil)) }

// post posts a form, and returns the status and the page; where that leads to one that
// shows a token, it is that page.
func (p *pageVisit) post(path string, pairs ...string) (int, string) {
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	resp := p.do(http.MethodPost, path, form)
	if to := resp.Header.Get("Location"); strings.HasPrefix(to, "/people?given=") {
		resp = p.do(http.MethodGet, to, nil)
	}
	return resp.StatusCode, body(p.s.t, resp)
}

var givenToken = regexp.MustCompile(`<pre tabindex="0">([0-9a-f]{64})</pre>`)

// People are added, changed and removed on the page: in force at once, and after a
// restart.
func TestPeopleAreChangedOnThePage(t *testing.T) {
	t.Parallel()
	s := serveConfigured(t, teamConfig)
	page := s.visitPage()
	answers := func(token string) int { return s.as(token, "GET", "/v1/approvals", "").StatusCode }
	add := func(name string, pairs ...string) (token string) {
		t.Helper()
		status, text := page.post("/people", append([]string{"name", name}, pairs...)...)
		m := givenToken.FindStringSubmatch(text)
		if status != http.StatusOK || m == nil {
			t.Fatalf("adding %s: %d\n%s", name, status, text)
		}
		return m[1]
	}
	eve := add("eve", "role", "approve", "roles", "dba, security")
	if got := answers(eve); got != http.StatusOK {
		t.Fatalf("eve is answered with %d once she was added", got)
	}
	if text := page.get("/people"); !strings.Contains(text, "approve, dba, security") || strings.Contains(text, eve) {
		t.Error("the page does not list her, or shows her token again")
	}
	for _, refused := range [][]string{
		{"name", "eve", "role", "approve"}, {"name", "bob", "role", "approve"}, {"name", "ada", "role", "approve"}, {"name", "policy", "role", "approve"},
		{"name", "Zoë", "role", "approve"}, {"name", "zoe"}, {"name", "zoe", "role", "BAD ROLE"}, {"name", "zoe", "role", "approve", "accounts", "slack:U1"},
	} {
		if status, text := page.post("/people", refused...); status != http.StatusUnprocessableEntity {
			t.Errorf("adding %v: %d\n%s", refused, status, text)
		}
	}
	// Who has not the role admin changes nobody.
	for _, path := range []string{"/v1/people/mallory", "/v1/people/eve"} {
		if got := s.as(eve, "PUT", path, `{"roles": ["admin"], "token_sha256": "`+hashOf(evesToken)+`"}`).StatusCode; got != http.StatusForbidden {
			t.Errorf("PUT %s by eve is answered with %d", path, got)
		}
	}
	if got := s.as(eve, "DELETE", "/v1/people/ada", "").StatusCode; got != http.StatusForbidden {
		t.Errorf("eve removes ada: %d", got)
	}
	// A new token ends the old one, and what was opened by it.
	events := s.as(eve, "GET", "/v1/events", "")
	gone := make(chan struct{})
	go func() { defer close(gone); drain(events) }()
	_, text := page.post("/people/eve", "action", "token", "role", "operate")
	fresh := givenToken.FindStringSubmatch(text)
	if fresh == nil || answers(eve) != http.StatusUnauthorized || answers(fresh[1]) != http.StatusOK {
		t.Errorf("after a new token was given the old one is answered with %d:\n%s", answers(eve), text)
	}
	<-gone
	// Somebody of the configuration is removed until it names them no longer.
	if status, _ := page.post("/people/bob", "action", "change", "role", "admin"); status != http.StatusUnprocessableEntity {
		t.Errorf("bob, who is of the configuration, is changed: %d", status)
	}
	page.post("/people/bob", "action", "remove")
	if got := answers(bobsToken); got != http.StatusUnauthorized {
		t.Errorf("bob is answered with %d once he was removed", got)
	}
	s.inForce(s.save(teamConfig + "# again\n"))
	if got := answers(bobsToken); got != http.StatusUnauthorized {
		t.Errorf("bob is answered with %d after the file was saved with him in it", got)
	}
	page.post("/people/bob", "action", "restore")
	if got := answers(bobsToken); got != http.StatusOK {
		t.Errorf("bob is answered with %d once that was taken back", got)
	}
	page.post("/people/bob", "action", "remove")
	s.inForce(s.save("approver: ada\npeople:\n  ada: {roles: [approve, admin]}\n"))
	if text := page.get("/people"); strings.Contains(text, "bob") {
		t.Error("bob is listed though nobody names him")
	}
	if status, text := page.post("/people/ada", "action", "remove"); status != http.StatusUnprocessableEntity {
		t.Errorf("the only admin is removed: %d\n%s", status, text)
	}
	s.kill()
	again := &configured{serveIn(t, s.dir, nil, "--config", s.file), s.file}
	if got := again.as(fresh[1], "GET", "/v1/approvals", "").StatusCode; got != http.StatusOK {
		t.Errorf("eve is answered with %d after a restart", got)
	}
	for _, note := range []string{"ada added eve, with the roles approve, dba, security", "ada removed bob", "a new token in place of the old one"} {
		if !slices.ContainsFunc(again.entries(), func(e entry) bool { return e.Type == "people" && strings.Contains(e.Note, note) }) {
			t.Errorf("the audit log does not say %q", note)
		}
	}
	again.must("audit", "verify")
}

// Where nobody is named, the first who is added ends that everybody may.
func TestTheFirstPersonWhoIsAdded(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	page := s.visitPage()
	if status, text := page.post("/people", "name", "bob", "role", "approve"); status != http.StatusOK {
		t.Fatalf("adding bob: %d\n%s", status, text)
	}
	if text := page.get("/people"); strings.Contains(text, "Nobody is named") || !strings.Contains(text, "holds the state folder") {
		t.Errorf("the page says:\n%s", text)
	}
	page.post("/people/bob", "action", "remove")
	if text := page.get("/people"); !strings.Contains(text, "Nobody is named") {
		t.Errorf("with nobody left the page says:\n%s", text)
	}
}
