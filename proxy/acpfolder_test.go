package proxy_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// People were told of one folder: what they said of a call there is nothing said of the
// same call elsewhere.
func TestAnApprovalOfAnEditorsAgentIsForTheFolderThatPeopleSaw(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, nil)
	ask := func(folder string) (first string, leave func()) {
		ctx, cancel := context.WithCancel(t.Context())
		body := `{"folder":"` + folder + `","message":{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"gated","content":"x"}}}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/acp/calls", strings.NewReader(body))
		proxytest.Must(t, err)
		req.Header.Set("Content-Type", "application/json")
		resp, err := g.Client.Do(req)
		proxytest.Must(t, err)
		buf := make([]byte, 4096)
		n, err := resp.Body.Read(buf)
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		return string(buf[:n]), func() { cancel(); _ = resp.Body.Close() }
	}
	_, leave := ask("/w")
	r := g.Pending(1)[0]
	leave()
	g.Noticed() // else the answer can still go to the connection that has gone
	_, err := g.Queue.Decide(t.Context(), r.ID, approvals.Vote{Decision: holdgate.AnswerApprove, By: "ann", Channel: "cli", Assurance: "local", Digest: r.Call.Digest})
	proxytest.Must(t, err)
	first, leave := ask("/elsewhere")
	defer leave()
	if !strings.Contains(first, `"waiting"`) || strings.Contains(first, r.ID) {
		t.Errorf("in another folder it is answered %s", first)
	}
	first, leave = ask("/w")
	defer leave()
	if !strings.Contains(first, `"allow"`) {
		t.Errorf("asked again in its folder it is answered %s", first)
	}
}
