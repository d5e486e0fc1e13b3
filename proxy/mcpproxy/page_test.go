package mcpproxy_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/store/audit"
)

const opensPages = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"c"}}}`

func withPage() proxytest.Option {
	return func(c *proxy.Config) {
		c.Relay.Page = func(request string) string { return "https://approvals.example/r/" + url.PathEscape(request) }
	}
}

// A page that a client was asked to show.
type askedPage struct {
	ID     string
	Method string
	Params struct {
		Mode, Message, ElicitationID, URL string
	}
}

// pageOn reads a stream up to the next request to show a page.
func pageOn(t *testing.T, r *bufio.Reader) (p askedPage) {
	t.Helper()
	text := proxytest.Until(t, r, `"elicitation/create"`)
	_, data, _ := strings.Cut(text[strings.LastIndex(text, "data: "):], "data: ")
	if err := json.Unmarshal([]byte(strings.TrimSpace(data)), &p); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return p
}

// Whatever the client says to a page, a person decides: what the gated side answers
// is neither looked at nor sent on.
func TestAPageIsShownAndItsAnswerDecidesNothing(t *testing.T) {
	t.Parallel()
	for _, says := range []string{`"result":{"action":"accept"}`, `"result":{"action":"accept","content":{"decision":"approve"}}`, `"result":{"action":"decline"}`, `"result":{"action":"cancel"}`, `"error":{"code":-32601,"message":"no"}`} {
		for _, approved := range []bool{true, false} {
			t.Run(says, func(t *testing.T) {
				t.Parallel()
				g, seen := proxytest.NewMCP(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Mcp-Session-Id", "s1")
					proxytest.MCPJSON(200, proxytest.ToolResult)(w, r)
				}, withPage())
				proxytest.ReadAll(t, g.Call(t.Context(), opensPages, nil).Body)
				r := bufio.NewReader(g.Call(t.Context(), proxytest.ToolCall("1", "gated"), proxytest.SessionHeader("s1")).Body)
				req := g.Pending(1)[0]
				p := pageOn(t, r)
				if p.Params.Mode != "url" || p.Params.URL != "https://approvals.example/r/"+req.ID || p.Params.ElicitationID == "" || !strings.Contains(p.Params.Message, req.ID) {
					t.Errorf("it is %+v", p)
				}
				resp := g.Call(t.Context(), `{"jsonrpc":"2.0","id":"`+p.ID+`",`+says+`}`, proxytest.SessionHeader("s1"))
				if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 202 || body != "" {
					t.Errorf("its answer was answered with status %d: %s", resp.StatusCode, body)
				}
				if still := g.Pending(1); still[0].ID != req.ID || len(seen.All()) != 1 {
					t.Fatalf("after the answer %+v is pending, and the server has seen %q", still, seen.All())
				}
				want := `"done"`
				if approved {
					g.Decide(req, holdgate.AnswerApprove, "")
				} else {
					want = "not today"
					g.Decide(req, holdgate.AnswerDeny, "not today")
				}
				rest := proxytest.ReadAll(t, r)
				done, end := strings.Index(rest, `"notifications/elicitation/complete","params":{"elicitationId":"`+p.Params.ElicitationID), strings.Index(rest, want)
				if done < 0 || end < done {
					t.Errorf("got %s", rest)
				}
				if n := len(g.Entries(audit.TypeOutcome)); n != 1 {
					t.Errorf("%d outcomes", n)
				}
				g.Verified()
			})
		}
	}
}

// The word of another session about the page is not about this one, and goes the
// way of all answers.
func TestOnlyItsOwnClientAnswersAPage(t *testing.T) {
	t.Parallel()
	g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, proxytest.ToolResult), withPage())
	proxytest.ReadAll(t, g.Call(t.Context(), opensPages, nil).Body)
	r := bufio.NewReader(g.Call(t.Context(), proxytest.ToolCall("1", "gated"), proxytest.SessionHeader("s1")).Body)
	req := g.Pending(1)[0]
	p := pageOn(t, r)
	answer := `{"jsonrpc":"2.0","id":"` + p.ID + `","result":{"action":"accept"}}`
	proxytest.ReadAll(t, g.Call(t.Context(), answer, proxytest.SessionHeader("s2")).Body)
	if n := len(seen.All()); n != 2 {
		t.Errorf("the server has seen %q", seen.All())
	}
	g.Decide(req, holdgate.AnswerDeny, "no")
	proxytest.ReadAll(t, r)
}

// Of one request a client is asked to show the page once, and one that cannot, or
// where none is set, never.
func TestAPageIsShownOnceAndToThoseWhoCan(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, hello string
		page        bool
		want        int
	}{
		{"it can", opensPages, true, 1},
		{"it can show forms alone", strings.Replace(opensPages, `,"url":{}`, ``, 1), true, 0},
		{"no page is set", opensPages, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := []proxytest.Option{proxytest.WithMCPBudget(1)}
			if tt.page {
				opts = append(opts, withPage())
			}
			g, _ := proxytest.NewMCP(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Mcp-Session-Id", "s1")
				proxytest.MCPJSON(200, proxytest.ToolResult)(w, r)
			}, opts...)
			proxytest.ReadAll(t, g.Call(t.Context(), tt.hello, nil).Body)
			shown := 0
			for range 3 {
				text := proxytest.ReadAll(t, g.Call(t.Context(), proxytest.ToolCall("1", "gated"), proxytest.SessionHeader("s1")).Body)
				shown += strings.Count(text, "elicitation/create")
				if !strings.Contains(text, "Call the tool again") {
					t.Errorf("got %s", text)
				}
			}
			if g.Pending(1); shown != tt.want {
				t.Errorf("it was shown %d times, want %d", shown, tt.want)
			}
		})
	}
}

// In revision 2026-07-28 the call is answered with the page, and made again: then
// the client waits, whatever it says of the page, of which the server sees nothing.
func TestAPageOfRevision26(t *testing.T) {
	t.Parallel()
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}`
	call := func(id, more string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"remove","arguments":{"path":"gated"},` + more + meta + `}}`
	}
	for _, says := range []string{`{"action":"accept"}`, `{"action":"decline"}`} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			g, seen := proxytest.NewMCP(t, proxytest.MCPJSON(200, strings.Replace(proxytest.ToolResult, `"id":1`, `"id":2`, 1)), withPage())
			first := proxytest.ReadAll(t, g.Call(t.Context(), call("1", ""), nil).Body)
			req := g.Pending(1)[0]
			if !strings.Contains(first, `"resultType":"input_required"`) || !strings.Contains(first, `"url":"https://approvals.example/r/`+req.ID+`"`) {
				t.Errorf("got %s", first)
			}
			r := bufio.NewReader(g.Call(t.Context(), call("2", `"inputResponses":{"io.github.holdgate/page":`+says+`},`), nil).Body)
			if len(seen.All()) != 0 {
				t.Fatal("the call went on")
			}
			g.Decide(req, holdgate.AnswerApprove, "")
			if rest := proxytest.ReadAll(t, r); !strings.Contains(rest, `"done"`) {
				t.Errorf("got %s", rest)
			}
			if got := seen.All(); len(got) != 1 || got[0] != call("2", "") {
				t.Errorf("the server got %q", got)
			}
			if asked, used := len(g.Entries(audit.TypeOutcome)), len(g.Entries(audit.TypeUsed)); asked != 1 || used != 1 {
				t.Errorf("asked %d times, used %d times", asked, used)
			}
		})
	}
}
