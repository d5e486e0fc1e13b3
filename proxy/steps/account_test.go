package steps

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/anthropic"
	"github.com/holdgate/holdgate/proxy/route"
)

// The first key of a run that needs one is its own. Any other is new, at another host too,
// however it is shown, until people let it; and another run begins anew.
func TestAccounts(t *testing.T) {
	d, err := holdgate.NewDigester(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	const (
		named               = "http://127.0.0.1:8765/v1/messages" // by the configuration, as the next one
		upstreamOfAProvider = "https://api.mistral.ai/v1/messages"
		bedrock             = "https://bedrock-runtime.us-east-1.amazonaws.com/v1/messages"
	)
	s := &Steps{Digester: d}
	put := "" // what Holdgate puts in
	kind := func(agent, url, header, value string) (string, *Exchange) {
		r := httptest.NewRequest(http.MethodPost, url, nil)
		if header != "" {
			r.Header.Set(header, value)
		}
		who := approvals.Caller{Agent: holdgate.Agent{ID: agent, Proofs: holdgate.Proofs{Keys: agent != "apart"}}}
		target := route.Target{URL: r.URL, Caller: who, Named: url == named || strings.HasPrefix(url, upstreamOfAProvider), Credential: put}
		if strings.HasSuffix(r.URL.Path, "/messages") {
			target.Codec = &anthropic.Codec{}
		}
		e := s.Begin(httptest.NewRecorder(), r, target)
		e.WithAccount()
		return e.Target.Account, e
	}
	const messages = "https://api.anthropic.com/v1/messages"
	for _, c := range []struct{ agent, url, header, value, want string }{
		{"claude", messages, "", "", AccountNew},
		{"claude", "https://api.anthropic.com/v1/files", "", "", ""},
		{"claude", messages, "X-Api-Key", "mine", AccountOwn},
		{"claude", messages, "X-Api-Key", "mine", AccountOwn},
		{"claude", messages, "", "", AccountNew},
		{"claude", "http://collect.example/v1/messages", "", "", AccountNew},
		{"claude", messages, "Ocp-Apim-Subscription-Key", "theirs", AccountNew},
		{"claude", "https://api.anthropic.com/v1/files", "X-Api-Key", "mine", AccountOwn},
		{"claude", messages, "X-Api-Key", "theirs", AccountNew},
		{"claude", messages, "Authorization", "Bearer mine", AccountNew},
		{"claude", messages, "Cookie", "session=theirs", AccountNew},
		{"claude", messages + "?key=theirs", "", "", AccountNew},
		{"claude", messages + "?KEY=theirs", "X-Api-Key", "mine", AccountNew},
		{"claude", "https://api.openai.com/v1/responses", "Authorization", "Bearer theirs", AccountNew},
		{"claude", "https://gateway.example/v1/messages", "X-Api-Key", "mine", AccountNew},
		{"claude", named, "X-Api-Key", "mine", AccountOwn},
		{"claude", named, "X-Api-Key", "theirs", AccountNew},
		{"claude", named, "Authorization", "Bearer mine", AccountNew},
		{"claude", messages, "X-Portkey-Custom-Host", "https://collect.example", AccountNew},
		{"claude", messages + "?x=1;key=theirs", "X-Api-Key", "mine", AccountNew},
		{"claude", messages + "?$key=theirs", "X-Api-Key", "mine", AccountNew},
		{"claude", messages + "?subscription-key=theirs", "X-Api-Key", "mine", AccountNew},
		{"claude", messages + "?oauth_token=theirs", "X-Api-Key", "mine", AccountNew},
		{"claude", messages + "?beta=true", "X-Api-Key", "mine", AccountOwn},
		{"claude", messages, "X_api_key", "theirs", AccountNew},
		{"codex", messages, "X-Api-Key", "theirs", AccountOwn},
		{"provider", upstreamOfAProvider, "", "", AccountNew}, // which nobody asks without a key: it is where nobody looks
		{"provider", upstreamOfAProvider + "?token=theirs", "", "", AccountNew},
		{"provider", upstreamOfAProvider, "X-Api-Key", "mine", AccountOwn},
		{"signs", bedrock, "Authorization", "AWS4-HMAC-SHA256 Credential=MINE/20261126/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=1", AccountOwn},
		{"signs", bedrock, "Authorization", "AWS4-HMAC-SHA256 Credential=MINE/20261127/us-east-1/bedrock/aws4_request,SignedHeaders=host,Signature=2", AccountOwn},
		{"signs", bedrock, "Authorization", "AWS4-HMAC-SHA256 Credential=THEIRS/20261126/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=3", AccountNew},
		{"signs", bedrock, "Authorization", "AWS4-HMAC-SHA256 XCredential=MINE/x, Credential=THEIRS/20261126/us-east-1/bedrock/aws4_request, Signature=3", AccountNew},
		{"signs", bedrock, "Authorization", "AWS4-HMAC-SHA256 Credential=MINE/x, Credential=THEIRS/20261126/us-east-1/bedrock/aws4_request, Signature=3", AccountNew},
		{"presigns", bedrock + "?X-Amz-Credential=MINE%2F20261126", "", "", AccountOwn},
		{"presigns", bedrock + "?X-Amz-Credential=THEIRS%2F20261126", "", "", AccountNew},
		{"cloud", "https://gateway.ai.cloudflare.com/v1/ours/gw/anthropic/v1/messages", "X-Api-Key", "mine", AccountOwn},
		{"cloud", "https://gateway.ai.cloudflare.com/v1/ours/gw/anthropic/v1/messages", "X-Api-Key", "mine", AccountOwn},
		{"cloud", "https://gateway.ai.cloudflare.com/v1/theirs/gw/anthropic/v1/messages", "X-Api-Key", "mine", AccountNew},
		{"cloud", "https://gateway.ai.cloudflare.com/v1/ours/../theirs/gw/v1/messages", "X-Api-Key", "mine", AccountNew},
		{"apart", messages, "X-Api-Key", "theirs", ""},
		{"keyless", named, "", "", AccountOwn},
		{"keyless", messages, "X-Api-Key", "theirs", AccountNew},
		{"keyless", named, "X-Api-Key", "theirs", AccountNew},
		{"keyless", named, "", "", AccountOwn},
	} {
		if got, _ := kind(c.agent, c.url, c.header, c.value); got != c.want {
			t.Errorf("%s at %s with %s %s is %q, want %q", c.agent, c.url, c.header, c.value, got, c.want)
		}
	}
	_, e := kind("claude", messages, "X-Api-Key", "mine")
	for _, name := range []string{"X-Portkey-Custom-Host", "X-Portkey-Config", "Helicone-Target-Url", "X_Goog_Api_Key"} {
		e.R.Header[name] = []string{"theirs"}
		if e.WithAccount(); e.Target.Account != AccountNew {
			t.Errorf("the run's own key beside %s is %q", name, e.Target.Account)
		}
		delete(e.R.Header, name)
	}
	e.R.Header.Set("X-Portkey-Trace-Id", "7")
	if e.WithAccount(); e.Target.Account != AccountOwn {
		t.Errorf("a trace makes it %q", e.Target.Account)
	}
	_, e = kind("claude", messages, "X-Api-Key", "theirs")
	e.tieAccount()
	if got, _ := kind("claude", messages, "X-Api-Key", "theirs"); got != AccountOwn {
		t.Errorf("once people have let it, it is %q", got)
	}
	if got, _ := kind("claude", named, "X-Api-Key", "theirs"); got != AccountNew {
		t.Errorf("elsewhere it is %q then", got)
	}
	_, e = kind("claude", "http://collect.example/v1/messages", "", "")
	e.tieAccount()
	if got, _ := kind("claude", "http://collect.example/v1/messages", "", ""); got != AccountOwn {
		t.Errorf("a host that people have let it ask without a key is %q", got)
	}
	if s.Accounts("nobody") != nil || s.Accounts("keyless") == nil {
		t.Error("whose own account is none, and whose is not known, are one")
	}
	passed := s.Accounts("claude")
	s.ForgetAccounts("claude")
	s.KnowAccounts("claude", passed)
	s.KnowAccounts("nobody", nil)
	if got, _ := kind("claude", messages, "X-Api-Key", "theirs"); got != AccountOwn {
		t.Errorf("in another process it is %q", got)
	}
	if got, _ := kind("claude", messages, "X-Api-Key", "another"); got != AccountNew {
		t.Errorf("the first new one in another process is %q", got)
	}
	s.ForgetAccounts("claude")
	if got, _ := kind("claude", messages, "X-Api-Key", "theirs"); got != AccountOwn {
		t.Errorf("the first of another run is %q", got)
	}
	if got, _ := kind("claude", messages, "X-Api-Key", "mine"); got != AccountNew {
		t.Errorf("the second of another run is %q", got)
	}
	put = "anthropic"
	if got, _ := kind("injected", messages, "X-Api-Key", "placeholder"); got != AccountOwn {
		t.Errorf("with a credential that Holdgate puts in it is %q", got)
	}
	put = ""
	if got, _ := kind("injected", "https://api.openai.com/v1/responses", "Authorization", "Bearer theirs"); got != AccountNew {
		t.Errorf("the first key that is shown where Holdgate puts the run's own in is %q", got)
	}
}
