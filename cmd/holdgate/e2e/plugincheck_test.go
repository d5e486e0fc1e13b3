package e2e_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A channel that listens can be checked while the sidecar runs it; where somebody else
// listens, it cannot work.
func TestAChannelIsCheckedBesideItsSidecar(t *testing.T) {
	t.Parallel()
	slack := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok": true, "bot_id": "B1", "user_id": "U1"}`)
	}))
	t.Cleanup(slack.Close)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := write(t, "holdgate.yaml", "plugins:\n  slack:\n    config: {channel: C0123456789, users: [U0123456789], api_url: "+quoted(slack.URL)+", listen: "+quoted(taken.Addr().String())+
		", bot_token_file: "+quoted(write(t, "bot", "xoxb-of-no-workspace"))+", signing_secret_file: "+quoted(write(t, "signing", "0123456789abcdef0123456789abcdef"))+"}\n")
	check := []string{"plugin", "check", "slack", "--config", config}
	if r := holdgate(t, nil, append(check, "--state-dir", stateDir(t))...); r.code != 1 || !strings.Contains(r.stdout, "address already in use") {
		t.Errorf("somebody else listens there: %v", r)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil, "--config", config)
	running := func() bool { return strings.Contains(s.run("plugin", "list", "--json").stdout, `"running"`) }
	until(t, "the channel", running)
	if r := s.run(check...); r.code != 0 || !strings.HasPrefix(r.stdout, "slack: ok, beside the sidecar that runs it\n") {
		t.Errorf("the sidecar listens there: %v", r)
	}
	if !running() {
		t.Error("the channel of the sidecar runs no more")
	}
}
