package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

func TestHowUpstreamsAreReachedIsRead(t *testing.T) {
	c, err := load(t, `
listen: {transparent: "localhost:15001"}
tls: {ca_files: [/etc/ssl/company.pem]}
upstream_proxy: {http: "http://proxy.example:3128", https: "socks5://proxy.example", no_proxy: [.example.org], credentials_file: /etc/holdgate/proxy, environment: false, lookup: proxy, loopback: true}
pass_through: [{host: "*.pinned.example"}, {host: "llm.example:8443", calls_unseen: true}]
`, config.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	want := config.UpstreamProxy{HTTP: "http://proxy.example:3128", HTTPS: "socks5://proxy.example", NoProxy: []string{".example.org"}, CredentialsFile: "/etc/holdgate/proxy", Lookup: "proxy", Loopback: true}
	if diff := cmp.Diff(want, c.UpstreamProxy); diff != "" {
		t.Errorf("upstream_proxy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]config.PassThrough{{Host: "*.pinned.example"}, {Host: "llm.example:8443", CallsUnseen: true}}, c.PassThrough); diff != "" {
		t.Errorf("pass_through (-want +got):\n%s", diff)
	}
	if c.Listen.Transparent != "localhost:15001" || len(c.TLS.CAFiles) != 1 || c.TLS.CAFiles[0] != "/etc/ssl/company.pem" {
		t.Errorf("got %+v, %+v", c.Listen, c.TLS)
	}
}

func TestWhereMetricsAreReadIsRead(t *testing.T) {
	for _, text := range []string{`listen: {metrics: "127.0.0.1:7302"}`, `listen: {metrics: "localhost:0"}`, `listen: {metrics: "0.0.0.0:7302", metrics_from: [10.0.0.0/8, "fd00::/8"]}`} {
		if c, err := load(t, text, config.Flags{}); err != nil || c.Listen.Metrics == "" {
			t.Errorf("%s: %q, %v", text, c.Listen.Metrics, err)
		}
	}
}

func TestFaultsOfHowUpstreamsAreReached(t *testing.T) {
	for text, want := range map[string]string{
		`upstream_proxy: {http: "ftp://p.example"}`:              "upstream_proxy.http: want http://HOST:PORT",
		`upstream_proxy: {https: "http://ann:secret@p.example"}`: "upstream_proxy.https: must not hold a user or password",
		`upstream_proxy: {credentials_file: /x}`:                 "there is no proxy here",
		`upstream_proxy: {lookup: there}`:                        `upstream_proxy.lookup: "there" is none of here, proxy`,
		`pass_through: [{host: "https://x.example"}]`:            "pass_through[0].host",
		`pass_through: [{host: "*"}]`:                            "pass_through[0].host",
		`pass_through: [{host: "a.*.example"}]`:                  "pass_through[0].host",
		`pass_through: [{host: ""}]`:                             "pass_through[0].host",
		`listen: {transparent: "0.0.0.0:15001"}`:                 "is no loopback address",
		`listen: {transparent: "localhost:7300"}`:                "is the port of listen.agents",
		`listen: {transparent: "15001"}`:                         "is not HOST:PORT",

		`listen: {approvers: "0.0.0.0:7301"}`:                                                           "listen.approvers: 0.0.0.0:7301 can be reached from elsewhere",
		`listen: {approvers: "[::]:7301", approvers_tls: {own_ca: true}}`:                               "listen.approvers_tls.names: name the hosts",
		`listen: {approvers: "0.0.0.0:7301", approvers_tls: {cert: c.pem}}`:                             "listen.approvers_tls: cert and key belong together",
		`listen: {approvers_tls: {own_ca: true, cert: c.pem, key: k.pem}}`:                              "own_ca makes the certificate",
		`listen: {approvers_tls: {names: [a.example]}}`:                                                 "there is no certificate",
		`listen: {approvers: "0.0.0.0:7301", approvers_tls: {own_ca: true, names: ["a.example:7301"]}}`: "listen.approvers_tls.names[0]",

		`listen: {ext_authz: "0.0.0.0:7303"}`:                                     "listen.ext_authz: 0.0.0.0:7303 can be reached from elsewhere",
		`listen: {ext_authz: "127.0.0.1:7300"}`:                                   "listen.ext_authz: 127.0.0.1:7300 is another door's address",
		`listen: {metrics: "0.0.0.0:7302"}`:                                       "listen.metrics: 0.0.0.0:7302 can be reached from elsewhere",
		`listen: {metrics: "10.0.0.1:7302"}`:                                      "name the networks of your scrapers",
		`listen: {metrics: "0.0.0.0:7302", metrics_from: [0.0.0.0/0]}`:            "listen.metrics_from[0]: 0.0.0.0/0 is everybody",
		`listen: {metrics: "0.0.0.0:7302", metrics_from: [10.1.2.3/8]}`:           "is no network, as 10.0.0.0/8",
		`listen: {metrics: "0.0.0.0:7302", metrics_from: [10.0.0.0/8, internal]}`: "listen.metrics_from[1]",
		`listen: {metrics_from: [10.0.0.0/8]}`:                                    "there is no listen.metrics",
		`listen: {metrics: "127.0.0.1:7301"}`:                                     "is another door's address",
		`listen: {metrics: "7302"}`:                                               "is not HOST:PORT",
	} {
		_, err := load(t, text, config.Flags{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("a password is printed: %v", err)
		}
	}
}
