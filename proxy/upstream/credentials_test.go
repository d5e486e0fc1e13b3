package upstream

import (
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/credential"
)

type neverSent struct{ t *testing.T }

func (n neverSent) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("%s was sent for %s", r.URL, r.Host)
	return nil, http.ErrServerClosed
}

// What puts a credential in looks itself where the request goes, whatever was
// found out before.
func TestACredentialIsPutInWhereItBelongsAlone(t *testing.T) {
	c := &credential.Credential{Spec: credential.Spec{Name: "k", Origins: []string{"https://a.example:443"}, Header: "X-Api-Key", Form: credential.Plain, Value: "sk-real"}}
	for _, to := range [][2]string{{"https://b.example/x", "b.example"}, {"http://a.example/x", "a.example"}, {"https://a.example:8443/x", "a.example:8443"}, {"https://a.example/x", "b.example"}} {
		r, err := http.NewRequest(http.MethodGet, to[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = to[1]
		if resp, err := WithCredential(c, neverSent{t}, func() {}).RoundTrip(r); err == nil || !strings.Contains(err.Error(), "where it does not belong") {
			t.Errorf("%v: %v, %v", to, resp, err)
		}
	}
}
