package steps

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/route"
)

// The first account of a run is its own. Any other is new, at another host too,
// however it is shown, until people let it; and another run begins anew.
func TestAccounts(t *testing.T) {
	d, err := holdgate.NewDigester(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	s := &Steps{Digester: d}
	kind := func(agent, url, header, value string) (string, *Exchange) {
		r := httptest.NewRequest(http.MethodPost, url, nil)
		if header != "" {
			r.Header.Set(header, value)
		}
		who := approvals.Caller{Agent: holdgate.Agent{ID: agent, Proofs: holdgate.Proofs{Keys: agent != "apart"}}}
		e := s.Begin(httptest.NewRecorder(), r, route.Target{URL: r.URL, Caller: who})
		e.WithAccount()
		return e.Target.Account, e
	}
	const messages = "https://api.anthropic.com/v1/messages"
	for _, c := range []struct{ agent, url, header, value, want string }{
		{"claude", messages, "", "", ""},
		{"claude", messages, "X-Api-Key", "mine", AccountOwn},
		{"claude", messages, "X-Api-Key", "mine", AccountOwn},
		{"claude", "https://api.anthropic.com/v1/files", "X-Api-Key", "mine", AccountOwn},
		{"claude", messages, "X-Api-Key", "theirs", AccountNew},
		{"claude", messages, "Authorization", "Bearer mine", AccountNew},
		{"claude", messages, "Cookie", "session=theirs", AccountNew},
		{"claude", messages + "?key=theirs", "", "", AccountNew},
		{"claude", messages + "?KEY=theirs", "X-Api-Key", "mine", AccountNew},
		{"claude", "https://api.openai.com/v1/responses", "Authorization", "Bearer theirs", AccountNew},
		{"codex", messages, "X-Api-Key", "theirs", AccountOwn},
		{"apart", messages, "X-Api-Key", "theirs", ""},
	} {
		if got, _ := kind(c.agent, c.url, c.header, c.value); got != c.want {
			t.Errorf("%s at %s with %s %s is %q, want %q", c.agent, c.url, c.header, c.value, got, c.want)
		}
	}
	_, e := kind("claude", messages, "X-Api-Key", "theirs")
	e.tieAccount()
	if got, _ := kind("claude", messages, "X-Api-Key", "theirs"); got != AccountOwn {
		t.Errorf("once people have let it, it is %q", got)
	}
	s.ForgetAccounts("claude")
	if got, _ := kind("claude", messages, "X-Api-Key", "theirs"); got != AccountOwn {
		t.Errorf("the first of another run is %q", got)
	}
	if got, _ := kind("claude", messages, "X-Api-Key", "mine"); got != AccountNew {
		t.Errorf("the second of another run is %q", got)
	}
	e.Target.Credential, e.Target.Account = "anthropic", ""
	if e.WithAccount(); e.Target.Account != AccountOwn {
		t.Errorf("with a credential that Holdgate puts in it is %q", e.Target.Account)
	}
}
