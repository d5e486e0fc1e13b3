package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/web"
)

// tags are the elements that pages are made of, and attributes those that they have.
var (
	tags       = strings.Fields("html head meta title link script body a header nav span form button main div article section h1 h2 h3 p time ul li ol dl dt dd pre code small b label input textarea select option datalist fieldset legend details summary noscript table caption thead tbody tr th td kbd br i")
	attributes = strings.Fields("lang charset name content rel href src defer class id role aria-live aria-current aria-label aria-labelledby tabindex method action value type hidden disabled checked selected required for rows cols placeholder autocomplete autocapitalize spellcheck formnovalidate formaction open scope pattern title data-live data-state data-until data-risk data-sign data-passkey data-back data-label download inputmode maxlength min max size readonly datetime list step colspan sizes color media")
)

// script is the one that pages load.
var script = regexp.MustCompile(`^/static/[0-9a-f]{12}/page\.js$`)

// FuzzPages throws texts at the pages, wherever an agent has a word: none makes an element,
// an attribute or a place to go to, and none shows what a screen obeys.
func FuzzPages(f *testing.F) {
	for _, s := range []string{"rm -rf x", `</pre><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "' onfocus='x", "\u202egnp.exe", "\x1b[2J\r\nLOW Reads", "javascript:alert(1)", "{{.}}", "<!--", "&lt;b&gt;&#x202e;", "\xff\x00", "</textarea><form action=//evil.example>", "//evil.example/\\"} {
		f.Add(s)
	}
	h := newHouse(f, func(_ *api.Config, c *web.Config) { c.Logger = nil })
	b := h.signIn("ada")
	f.Fuzz(func(t *testing.T, s string) {
		h.t = t
		if len(s) > 2000 {
			return
		}
		arguments, err := json.Marshal(map[string]string{"command": s, "description": s, "x" + s: s})
		if err != nil {
			t.Fatal(err)
		}
		s = strings.ToValidUTF8(s, "\ufffd")
		who := approvals.Caller{Agent: holdgate.Agent{ID: "a" + s}, Session: holdgate.Session{ID: "s" + s}, Door: "up/anthropic"}
		r := h.holdFor(who, holdgate.RiskHigh, string(arguments), holdgate.HoldSpec{Message: s})
		defer b.do(http.MethodPost, "/requests/"+r.ID, url.Values{"decision": {"deny"}, "text": {s}})
		for _, path := range []string{"/", "/requests/" + r.ID, "/requests/" + r.ID + "?full=1", "/requests/" + r.ID + "/edit", "/several?id=" + r.ID, "/sessions/" + url.PathEscape("s"+s) + "?agent=" + url.QueryEscape("a"+s)} {
			_, text, _ := b.do(http.MethodGet, path, nil)
			for _, what := range pretends(text) {
				t.Errorf("%s: %s", path, what)
			}
		}
	})
}

// pretends lists what of a page is none of ours, and what a screen would obey.
func pretends(page string) (list []string) {
	z := html.NewTokenizer(strings.NewReader(page))
	field := false // what stands in a field is for editing, as it is
	for {
		kind := z.Next()
		t := z.Token()
		switch kind {
		case html.ErrorToken:
			return list
		case html.CommentToken:
			list = append(list, "a comment: "+t.Data)
		case html.TextToken:
			if at := strings.IndexFunc(t.Data, func(c rune) bool { return c != '\n' && c != '\t' && unicode.In(c, unicode.Cc, unicode.Cf) }); at >= 0 && !field {
				list = append(list, "a text that a screen obeys: "+t.Data)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			field = t.Data == "textarea"
			if !slices.Contains(tags, t.Data) {
				list = append(list, "an element: "+t.String())
			}
			for _, a := range t.Attr {
				switch {
				case !slices.Contains(attributes, a.Key):
					list = append(list, "an attribute: "+t.String())
				case a.Key == "src" && !script.MatchString(a.Val):
					list = append(list, "a source: "+a.Val)
				case (a.Key == "href" || a.Key == "action") && !local(a.Val):
					list = append(list, "a place to go to: "+a.Val)
				}
			}
		case html.EndTagToken:
			field = false
		}
	}
}

// local reports whether an address is a path of the page's own.
func local(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "" && u.Host == "" && !strings.HasPrefix(address, "//") && !strings.HasPrefix(address, `/\`)
}
