package launch_test

import (
	"context"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`http://(hg-[0-9a-z]+\.localhost:[0-9]+)/open#([\w-]+)`)

// A person who knows nothing but what run prints comes to the page and decides there.
func TestAKeyLeadsToThePage(t *testing.T) {
	t.Parallel()
	tm := inTerminal(t, "ask", "rm -rf data")
	tm.sees("[p]age")
	tm.answers("p")
	found := link.FindStringSubmatch(tm.sees("/open#") + tm.sees(prompt))
	if found == nil {
		t.Fatal("no link is shown")
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(found[1])
	browser := http.Client{Jar: jar, Transport: &http.Transport{ // browsers lead names below localhost to this machine
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		},
	}}
	defer browser.CloseIdleConnections()
	post := func(path string, form url.Values) string {
		t.Helper()
		resp, err := browser.PostForm("http://"+found[1]+path, form)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v\n%s", path, resp.Status, err, text)
		}
		return html.UnescapeString(string(text))
	}
	r := tm.pending(1)[0]
	if page := post("/open", url.Values{"code": {found[2]}}); !strings.Contains(page, "rm -rf data") || !strings.Contains(page, r.ID) {
		t.Errorf("the link leads to\n%s", page)
	}
	post("/requests/"+r.ID, url.Values{"decision": {"deny"}, "text": {"not from here"}})
	tm.sees("denied by")
	tm.sees("not from here")
	tm.types("\r")
	tm.ended(0)
}
