package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/passkeys"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store/audit"
)

// authenticator plugs a virtual authenticator into the browser.
func authenticator(t *testing.T, ctx context.Context, over webauthn.AuthenticatorTransport) webauthn.AuthenticatorID {
	t.Helper()
	_, err := chromedp.Call(ctx, webauthn.Enable, webauthn.EnableParams{})
	must(t, err)
	made, err := chromedp.Call(ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: over, HasResidentKey: true, HasUserVerification: true,
		IsUserVerified: true, AutomaticPresenceSimulation: true,
	}})
	must(t, err)
	return made.AuthenticatorID
}

// A person registers a passkey, it counts once the configuration names it, a vote is
// signed with it, and the log proves that.
func TestVotesAreSigned(t *testing.T) {
	h := newHouse(t)
	ctx := chromium(t, 1280, 800)
	first := authenticator(t, ctx, webauthn.AuthenticatorTransportInternal)
	signs := holdgate.HoldSpec{Approvers: holdgate.Approvers{Passkey: true}}
	old := h.hold(holdgate.RiskMedium, `{"command":"old"}`, signs)

	register := func(keys int) passkeys.Key {
		browse(t, ctx, click(`form[data-passkey=new] button`), visible(`//ul[@class="passkeys"]/li[`+string(rune('0'+keys))+`]`))
		all, err := h.queue.Passkeys.List(t.Context(), "ada")
		must(t, err)
		if len(all) != keys {
			t.Fatalf("%d keys", len(all))
		}
		return all[keys-1]
	}
	browse(t, ctx, chromedp.Navigate(h.link("ada", "/people")), visible(`form[data-passkey=new]`))
	key := register(1)
	if says := value(t, ctx, chromedp.TextContent(`.passkeys pre`)); says != "people:\n  ada: {roles: [approve, admin], passkeys: [\""+key.Fingerprint+"\"]}" {
		t.Errorf("what to write into the configuration is %q", says)
	}
	picture(t, ctx, "passkeys-1280")
	browse(t, ctx, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch), visible(`//ul[@class="passkeys"]//button[contains(., "Remove")]`))
	picture(t, ctx, "passkeys-390")
	browse(t, ctx, chromedp.EmulateViewport(1280, 800))

	r := h.hold(holdgate.RiskMedium, `{"command":"make deploy"}`, signs)
	origin, _, _ := strings.Cut(h.link("ada", "/"), "/open")
	approve := func(r approvals.Request, says string) {
		t.Helper()
		browse(t, ctx, chromedp.Navigate(origin+"/requests/"+r.ID), visible(`button[value=approve]:not([disabled])`), write(`#text`, "for the release"),
			click(`button[value=approve]`), visible(`//*[(@id="notice" or @class="done") and contains(., "`+says+`")]`))
	}
	approve(r, "no passkey that counts")
	persons, err := people.New("ada", []people.Person{{Name: "ada", Roles: []string{people.RoleApprove, people.RoleAdmin}, Passkeys: []string{key.Fingerprint}},
		{Name: "bob", Roles: []string{people.RoleApprove}}})
	must(t, err)
	must(t, h.queue.SetPeople(t.Context(), persons))
	approve(old, "no passkey that counts") // it is older than the key
	_, err = h.queue.Decide(t.Context(), r.ID, approvals.Vote{Decision: holdgate.AnswerApprove, By: "ada", Channel: "cli", Assurance: "strong", Digest: r.Call.Digest})
	if !errors.Is(err, people.ErrNotEntitled) || !strings.Contains(err.Error(), "holdgate open") {
		t.Errorf("a vote by command line: %v", err)
	}
	picture(t, ctx, "signed-1280")
	approve(r, "approved")
	if now, _ := h.queue.Request(t.Context(), r.ID); now.Status != holdgate.StatusApproved || now.Votes[0].Assurance != "strong" {
		t.Errorf("it is %s, %+v", now.Status, now.Votes)
	}

	// Another key counts once the first one has signed it.
	_, err = chromedp.Call(ctx, webauthn.SetAutomaticPresenceSimulation, webauthn.SetAutomaticPresenceSimulationParams{AuthenticatorID: first, Enabled: false})
	must(t, err)
	second := authenticator(t, ctx, webauthn.AuthenticatorTransportUsb)
	browse(t, ctx, chromedp.Navigate(origin+"/people"), visible(`form[data-passkey=new]`))
	other := register(2)
	for id, on := range map[webauthn.AuthenticatorID]bool{first: true, second: false} {
		_, err = chromedp.Call(ctx, webauthn.SetAutomaticPresenceSimulation, webauthn.SetAutomaticPresenceSimulationParams{AuthenticatorID: id, Enabled: on})
		must(t, err)
	}
	browse(t, ctx, click(`form[data-passkey=sign] button`), visible(`//li[contains(., "admitted by `+key.Fingerprint+`")]`))
	all, err := h.queue.Passkeys.List(t.Context(), "ada")
	must(t, err)
	if len(all) != 2 || all[1].Fingerprint != other.Fingerprint || all[1].AdmittedBy != key.Fingerprint {
		t.Errorf("the second key: %+v", all)
	}

	// A key signs in.
	browse(t, ctx, click(`//form[@class="out"]//button`), visible(`form[data-passkey=open] button`), click(`form[data-passkey=open] button`),
		visible(`//span[@class="me" and .="ada"]`))

	verifySigned(t, h.log)
}

// verifySigned verifies the log as it is, and that it names what was changed.
func verifySigned(t *testing.T, log *audit.Log) {
	t.Helper()
	var b bytes.Buffer
	must(t, log.Export(t.Context(), &b))
	check := func(export []byte) (passkeys.Checker, error) {
		var c passkeys.Checker
		_, err := audit.Verify(bytes.NewReader(export), audit.VerifyOptions{Signed: c.Entry})
		return c, err
	}
	if c, err := check(b.Bytes()); err != nil || c.Votes != 1 || len(c.Unknown) != 0 || len(c.Keys) != 1 {
		t.Errorf("as it is: %+v, %v", c, err)
	}
	var vote audit.Entry
	must(t, log.Each(t.Context(), audit.Query{Type: audit.TypeVote}, func(e audit.Entry) error { vote = e; return nil }))
	another := "x" + vote.RequestID[1:]
	if another == vote.RequestID {
		another = "y" + vote.RequestID[1:]
	}
	for _, tt := range []struct{ name, old, new, says string }{
		{"the answer", `"reason":"for the release"`, `"reason":"for the weekend"`, "the answer is changed"},
		{"who answered", `"by":"ada"`, `"by":"bob"`, "is changed"},
		{"the call", `"digest":"` + string(vote.Call.Digest) + `"`, `"digest":"` + strings.Repeat("0", len(vote.Call.Digest)) + `"`, "the call is changed"},
		{"the request", `"request_id":"` + vote.RequestID, `"request_id":"` + another, "the request is changed"},
		{"what was signed of the call", `"call":"` + string(vote.Signed.Call) + `"`, `"call":"0"`, "the signature is changed"},
		{"the signature", text(t, vote.Signed.Signature), text(t, flipped(vote.Signed.Signature)), "the signature is changed"},
		{"the key", `"key":"SHA256:`, `"key":"SHA256:A`, "the key is changed"},
	} {
		lines := strings.SplitAfter(b.String(), "\n")
		for i, l := range lines {
			if strings.Contains(l, `"type":"vote"`) && strings.Contains(l, `"signed":`) {
				lines[i] = strings.Replace(l, tt.old, tt.new, 1)
				if lines[i] == l {
					t.Errorf("%s: nothing was changed in %s", tt.name, l)
				}
			}
		}
		if _, err := check([]byte(strings.Join(lines, ""))); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s was changed: %v", tt.name, err)
		}
	}
}

// flipped is bytes of which the last one differs by a bit.
func flipped(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)-1] ^= 1
	return b
}

// text is bytes as the log has them.
func text(t *testing.T, b []byte) string {
	t.Helper()
	out, err := json.Marshal(b)
	must(t, err)
	return strings.Trim(string(out), `"`)
}

// Without a key that counts nothing is registered, admitted or opened by what somebody
// makes up.
func TestMadeUpPasskeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	b := h.signIn("ada")
	made := `{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{"clientDataJSON":"e30","authenticatorData":"AAAA","signature":"AAAA","attestationObject":"AAAA"}}`
	for path, form := range map[string]url.Values{
		"/passkeys":        {"passkey": {made}},
		"/passkeys/admit":  {"signature": {made}, "key": {"SHA256:x"}},
		"/passkeys/remove": {"key": {"SHA256:x"}},
		"/open/passkey":    {"signature": {made}},
	} {
		if status, text, _ := b.do(http.MethodPost, path, form); status < 400 || status >= 500 {
			t.Errorf("%s: %d\n%s", path, status, text)
		}
	}
	r := h.hold(holdgate.RiskHigh, `{"command":"ls"}`, holdgate.HoldSpec{Approvers: holdgate.Approvers{Passkey: true}})
	for name, form := range map[string][]string{"nothing": {"decision", "approve"}, "made up": {"decision", "approve", "signature", made}} {
		if status, _, now := b.answer(r, form...); status < 400 || now.Status != holdgate.StatusPending {
			t.Errorf("signed with %s: %d, %s", name, status, now.Status)
		}
	}
	if status, _, now := b.answer(r, "decision", "deny"); status >= 400 || now.Status != holdgate.StatusDenied {
		t.Errorf("denied without a signature: %d, %s", status, now.Status)
	}
}
