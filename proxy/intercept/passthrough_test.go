package intercept

import (
	"crypto/tls"
	"testing"

	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/upstream"
)

func TestWhichHostsAPassThroughCovers(t *testing.T) {
	u := PassThrough{Host: "*.api.example"}
	for host, want := range map[string]bool{"a.api.example:443": true, "A.API.example.:443": true, "api.example:443": false, "a.api.example:8443": false, "xapi.example:443": false, ".api.example:443": false} {
		if got := u.covers(host); got != want {
			t.Errorf("%s: %t", host, got)
		}
	}
}

// Of the hosts below a domain, one that serves models is passed on only where that is
// said.
func TestAModelsHostBelowADomainIsNotPassedOn(t *testing.T) {
	table, err := route.NewTable(nil, nil, nil, nil)
	must(t, err)
	i, err := New(Config{Steps: &steps.Steps{Out: upstream.New(upstream.Config{})}, Table: table,
		PassThrough: []PassThrough{{Host: "*.anthropic.com"}, {Host: "api.openai.com", CallsUnseen: true}}})
	must(t, err)
	for host, want := range map[string]bool{"api.anthropic.com:443": false, "api.openai.com:443": true, "console.anthropic.com:443": true} {
		if got := i.passes(host); got != want {
			t.Errorf("%s: %t", host, got)
		}
	}
}

// With encrypted_client_hello the outer name is the provider's: what was asked
// for counts.
func TestAnEncryptedHelloLeadsToTheNameThatWasAskedFor(t *testing.T) {
	hello := &tls.ClientHelloInfo{ServerName: "public.example", Extensions: []uint16{0, extensionECH}}
	if got, err := serverName(hello, "a.example"); err != nil || got != "a.example" {
		t.Errorf("with a name: %q, %v", got, err)
	}
	if got, err := serverName(hello, ""); err != nil || got != "public.example" {
		t.Errorf("without: %q, %v", got, err)
	}
	hello.Extensions = nil
	if got, err := serverName(hello, "a.example"); err == nil {
		t.Errorf("without the extension: %q", got)
	}
}
