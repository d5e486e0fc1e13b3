package e2e_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPromise6: the agent cannot decide its own calls. What it can reach takes no
// decisions, even from one who has the token; what takes them is another listener,
// which asks for the token; and an agent that is confined reaches neither the
// listener, nor the socket, nor the token.
func TestPromise6(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := serve(t, nil, "--upstream", "anthropic="+p.URL)
	answer := s.asks("rm -rf own")
	r := answer.held()
	b, err := os.ReadFile(filepath.Join(s.dir, "approver.token"))
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(b))
	through := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: s.agents})}}
	t.Cleanup(through.CloseIdleConnections)
	decide := "/v1/approvals/" + r.ID + "/decision"
	for _, c := range []struct {
		name, url, token string
		client           *http.Client
		status           []int
	}{
		{"at the agents' door", "http://" + s.agents + decide, token, http.DefaultClient, []int{404, 405}},
		{"through the agents' door", "http://" + s.approvers + decide, token, through, []int{403}},
		{"through it, by a name", "http://localhost:" + portOf(s.approvers) + decide, token, through, []int{403}},
		{"through it, in a tunnel", "https://" + s.approvers + decide, token, through, nil},
		{"as an upstream", s.base("anthropic") + "/../.." + decide, token, http.DefaultClient, []int{400, 403, 404, 405}},
		{"at the approvers' door, without a token", "http://" + s.approvers + decide, "", http.DefaultClient, []int{401}},
		{"there, with another token", "http://" + s.approvers + decide, strings.Repeat("0", len(token)), http.DefaultClient, []int{401}},
	} {
		req, err := http.NewRequest(http.MethodPost, c.url, strings.NewReader(`{"decision":"approve","digest":"`+r.Call.Digest+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if c.token != "" {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		resp, err := c.client.Do(req)
		switch {
		case err != nil && c.status != nil:
			t.Errorf("%s: %v", c.name, err)
		case err == nil:
			if got := body(t, resp); !slices.Contains(c.status, resp.StatusCode) {
				t.Errorf("%s: status %d, want %v: %s", c.name, resp.StatusCode, c.status, got)
			}
		}
		if got := s.held("rm -rf own"); got.ID != r.ID {
			t.Fatalf("%s: request %s waits, want %s", c.name, got.ID, r.ID)
		}
	}

	// By hand, from within each confinement that there is here.
	for kind, flags := range kinds(t) {
		if kind == "unconfined" {
			continue
		}
		script := `cat "$2/approver.token"; ls "$2"; "$1" approve "$3" --digest "$4"; HOLDGATE_STATE_DIR=$2 "$1" approve "$3" --digest "$4"; ` +
			`curl -sS -X POST -H "Authorization: Bearer $6" -d '{"decision":"approve","digest":"'"$4"'"}' "http://$5/v1/approvals/$3/decision"; ` +
			`curl -sS --unix-socket "$2/holdgate.sock" -X POST -H "Authorization: Bearer $6" -d '{"decision":"approve","digest":"'"$4"'"}' "http://x/v1/approvals/$3/decision"; echo tried`
		args := append([]string{"run", "--state-dir", s.dir}, flags...)
		out := s.run(append(args, "--", "sh", "-c", script, "sh", binary, s.dir, r.ID, r.Call.Digest, s.approvers, token)...)
		if !strings.Contains(out.stdout, "tried") || strings.Contains(out.stdout, token) {
			t.Errorf("%s: %v", kind, out)
		}
		if got := s.held("rm -rf own"); got.ID != r.ID {
			t.Fatalf("%s: request %s waits, want %s: %v", kind, got.ID, r.ID, out)
		}
		t.Logf("%s: %v", kind, out)
	}
	answer.nothingOf(t, call{id: "toolu_rm_rf_own", command: "rm -rf own"})
	s.answer(r.ID, "approve")
	answer.sees(t, "toolu_rm_rf_own")
}

func portOf(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }
