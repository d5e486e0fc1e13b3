package e2e_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// formAt are the hidden fields of the form that posts to a path.
func formAt(t *testing.T, page, path string) url.Values {
	t.Helper()
	_, form, ok := strings.Cut(page, `action="`+path+`"`)
	if !ok {
		t.Fatalf("the page has no form for %s:\n%s", path, page)
	}
	form, _, _ = strings.Cut(form, "</form>")
	v := url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(form, -1) {
		v.Add(m[1], html.UnescapeString(m[2]))
	}
	return v
}

// A rule is drafted from a call, looked at, and put in force on the page.
func TestARuleIsDraftedOnThePage(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := serve(t, nil, "--upstream", "anthropic="+p.URL)
	page := s.visitPage()
	const command = "rm -rf drafted"
	first := s.asks(command)
	r := first.held()
	s.answer(r.ID, "deny", "--reason", "never")
	<-first.ended

	if text := page.get("/policy"); !strings.Contains(text, "files.delete") || !strings.Contains(text, "The shipped pack") {
		t.Errorf("the policy page:\n%s", text)
	}
	if status, text := page.post("/policy/try", "input", `{"kind": "tool_call", "tool": {"name": "Bash", "arguments": {"command": "rm -rf /"}}}`); status != http.StatusOK || !strings.Contains(text, "&#34;action&#34;: &#34;") {
		t.Errorf("trying an input: %d\n%s", status, text)
	}
	if status, _ := page.post("/policy/try", "input", `{`); status != http.StatusUnprocessableEntity {
		t.Errorf("trying no JSON: %d", status)
	}
	review := func(kind string) (status int, text string, files url.Values) {
		t.Helper()
		_, draft := page.post("/policy/draft", "request", r.ID, "kind", kind)
		files = formAt(t, draft, "/policy/review")
		for _, m := range regexp.MustCompile(`(?s)<textarea[^>]*name="text"[^>]*>\n(.*?)</textarea>`).FindAllStringSubmatch(draft, -1) {
			files.Add("text", html.UnescapeString(m[1]))
		}
		files.Set("name", kind)
		resp := page.do(http.MethodPost, "/policy/review", files)
		return resp.StatusCode, body(t, resp), files
	}
	// What people denied would pass: the page says so.
	if status, text, _ := review("never"); status != http.StatusOK || !strings.Contains(text, "It would let pass what was refused before") || !strings.Contains(text, "may let more through") {
		t.Errorf("never ask: %d\n%s", status, text)
	}
	var reviewed url.Values // before another rule comes into force
	for _, kind := range []string{"ask", "two"} {
		status, text, _ := review(kind)
		if reviewed = formAt(t, text, "/policy/push"); status != http.StatusOK || !strings.Contains(text, "it would let none pass") {
			t.Errorf("%s: %d\n%s", kind, status, text)
		}
	}
	status, text, files := review("refuse")
	if status != http.StatusOK || !strings.Contains(text, "All 2 tests pass") || !strings.Contains(text, "otherwise") {
		t.Fatalf("refuse: %d\n%s", status, text)
	}
	// Nothing is put in force that was not reviewed.
	if resp := page.do(http.MethodPost, "/policy/push", files); resp.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("pushed without a review: %s", resp.Status)
	}
	push := formAt(t, text, "/policy/push")
	other := url.Values{"seen": push["seen"], "reviewed": push["reviewed"], "name": push["name"], "file": push["file"], "text": append([]string{push["text"][0] + "\n"}, push["text"][1:]...)}
	if resp := page.do(http.MethodPost, "/policy/push", other); resp.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("pushed what was not reviewed: %s", resp.Status)
	}
	if resp := page.do(http.MethodPost, "/policy/push", push); resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("pushed: %s\n%s", resp.Status, body(t, resp))
	}
	second := s.asks(command)
	<-second.ended
	if len(s.pending()) != 0 || !strings.Contains(second.String(), "drafted_refuse_rm") {
		t.Errorf("the rule is not in force:\n%s", second.String())
	}
	if resp := page.do(http.MethodPost, "/policy/push", reviewed); resp.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("pushed what was reviewed against another policy: %s", resp.Status)
	}
	// A second rule lies beside the first.
	if status, text, files := review("ask"); status != http.StatusOK {
		t.Errorf("another one: %d\n%s", status, text)
	} else if resp := page.do(http.MethodPost, "/policy/push", formAt(t, text, "/policy/push")); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("another one is pushed: %s, of %v", resp.Status, files["file"])
	}
	if text := page.get("/policy"); !strings.Contains(text, "drafted_refuse_rm") || !strings.Contains(text, "drafted_ask_rm") {
		t.Errorf("both rules are not in force:\n%s", text)
	}
	if text := page.get("/policy?suggest=1"); !strings.Contains(text, "could have been spared") {
		t.Errorf("the suggestions:\n%s", text)
	}
	s.must("audit", "verify")
}
