package web_test

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/push"
	"github.com/holdgate/holdgate/approvals/web"
)

// pushing lets people be told by push.
func pushing(t testing.TB) func(*api.Config, *web.Config) {
	return func(a *api.Config, c *web.Config) {
		var err error
		c.Push, err = push.New(push.Config{Store: a.Store, Queue: a.Queue, People: a.Queue.People, Seed: []byte(strings.Repeat("k", 32)),
			Contact: func() string { return "mailto:ops@example.com" }, Refuse: func(netip.Addr) string { return "" }})
		must(t, err)
	}
}

func TestABrowserIsToldFromNowOn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, pushing(t))
	b := h.signIn("ada")
	if text := b.get("/people"); !strings.Contains(text, "Notify me in this browser") || !strings.Contains(text, `data-push="B`) {
		t.Error("the page does not offer to notify")
	}
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	must(t, err)
	b64 := base64.RawURLEncoding
	made := func(endpoint string) url.Values {
		return url.Values{"subscription": {fmt.Sprintf(`{"endpoint":%q,"expirationTime":null,"keys":{"p256dh":%q,"auth":%q}}`, endpoint, b64.EncodeToString(key.PublicKey().Bytes()), b64.EncodeToString(make([]byte, 16)))}}
	}
	if status, _, _ := b.do(http.MethodPost, "/push", made("https://push.example/x")); status != http.StatusSeeOther {
		t.Errorf("subscribing answers %d", status)
	}
	text := b.get("/people")
	id := regexp.MustCompile(`action="/push/remove"><input type="hidden" name="id" value="([0-9a-f]+)"`).FindStringSubmatch(text)
	if id == nil || strings.Contains(text, "push.example") {
		t.Fatal("the browser is not listed, or its address is shown")
	}
	for _, wrong := range []url.Values{made("https://127.0.0.1/x"), made("http://push.example/x"), {"subscription": {"{"}}, {}} {
		if status, _, _ := b.do(http.MethodPost, "/push", wrong); status != http.StatusUnprocessableEntity {
			t.Errorf("%v answers %d", wrong, status)
		}
	}
	h.signIn("bob").do(http.MethodPost, "/push/remove", url.Values{"id": {id[1]}})
	if !strings.Contains(b.get("/people"), id[1]) {
		t.Error("somebody else has ended it")
	}
	b.do(http.MethodPost, "/push/remove", url.Values{"id": {id[1]}})
	if strings.Contains(b.get("/people"), id[1]) {
		t.Error("it has not ended")
	}
}

// In a real browser the page is an app with a service worker of its own.
func TestThePageIsAnApp(t *testing.T) {
	h := newHouse(t, pushing(t))
	ctx := chromium(t, 390, 844)
	browse(t, ctx, chromedp.Navigate(h.link("ada", "/people")), visible(`form[data-push] button`))
	got := value(t, ctx, chromedp.Evaluate[string](`(async () => {
		const manifest = await (await fetch(document.querySelector("link[rel=manifest]").href)).json();
		const icon = await fetch(manifest.icons[0].src);
		const worker = await navigator.serviceWorker.register("/push.js");
		await navigator.serviceWorker.ready;
		return [manifest.name, manifest.display, icon.status, new URL(worker.scope).pathname].join(" ");
	})()`, chromedp.EvalAwaitPromise))
	if got != "Holdgate standalone 200 /" {
		t.Errorf("got %q", got)
	}
	picture(t, ctx, "notifications-390")
}
