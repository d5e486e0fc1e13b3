package config

import (
	"slices"
	"testing"
)

// A report for strangers hides the hosts that a configuration names, wherever they stand.
func TestNamesAreTheHostsToo(t *testing.T) {
	c := Default(t.TempDir(), "ada")
	c.OIDC.Issuer = "https://intranet:8443/realm"
	c.Upstreams = map[string]Upstream{"models": {URL: "http://vault/v1"}}
	for _, want := range []string{"ada", "intranet", "vault", "models"} {
		if got := Names(c); !slices.Contains(got, want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
	if slices.Contains(Names(c), "localhost") {
		t.Error("this machine is no name that users gave")
	}
}
