package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
)

// calling sends a message and returns what will come of it.
func (g *sidecar) calling(body string, header http.Header) <-chan string {
	got := make(chan string, 1)
	go func() { got <- readAll(g.t, g.call(g.t.Context(), body, header).Body) }()
	return got
}

func TestAnEditedToolCallReachesTheServer(t *testing.T) {
	t.Parallel()
	const note = `"_meta":{"io.github.holdgate/approval":{"message":"[holdgate] The approver (ann) approved the call to remove with other arguments than you gave: what runs, and its result, are of the edited call."}}`
	result := strings.Replace(toolResult, "}] }", "}] ,"+note+"}", 1)
	tests := []struct {
		name, accept string
		answer       http.HandlerFunc
		want         string
	}{
		{"answered with JSON", "", answerJSON(200, toolResult), "event: message\ndata: " + result + "\n\n"},
		{"answered with events", "", answerEvents("id: 7\ndata: \n\n", "id: 8\ndata: "+toolResult[:9], toolResult[9:]+"\n\n", ": end\n\n"), "id: 7\ndata: \n\nid: 8\ndata: " + result + "\n\n: end\n\n"},
		{"answered with JSON to a client that takes no events", "application/json", answerJSON(200, toolResult), result},
		{"answered with events all the same", "application/json", answerEvents("data: " + toolResult + "\r\n\r\n"), "data: " + result + "\n\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var header http.Header
			g, seen := newMCPGate(t, func(w http.ResponseWriter, r *http.Request) {
				header = r.Header.Clone()
				tt.answer(w, r)
			})
			h := http.Header{"Mcp-Param-Path": {"gated"}, "Mcp-Name": {"remove"}}
			if tt.accept != "" {
				h.Set("Accept", tt.accept)
			}
			got := g.calling(toolCall("1", "gated"), h)
			g.edit(g.pending(1)[0], "ann", `{"path":"b", "n":1.50}`, "")
			if body := <-got; body != tt.want && !strings.HasSuffix(body, "\n\n"+tt.want) {
				t.Errorf("got\n%s\nwant\n%s", body, tt.want)
			}
			if want := strings.Replace(toolCall("1", "gated"), `{"path":"gated"}`, `{"path":"b", "n":1.50}`, 1); len(seen.all()) != 1 || seen.all()[0] != want {
				t.Errorf("the server got %q", seen.all())
			}
			if header.Get("Mcp-Param-Path") != "b" || header.Get("Mcp-Name") != "remove" {
				t.Errorf("the headers do not mirror it: %v", header)
			}
			if used := g.entries("used"); len(used) != 1 {
				t.Errorf("used: %+v", used)
			}
			g.verified()
		})
	}
}

func TestAnEditThatHeadersCannotMirrorIsNotSent(t *testing.T) {
	t.Parallel()
	g, seen := newMCPGate(t, answerJSON(200, toolResult))
	body := strings.Replace(toolCall("1", "gated"), `"path":"gated"`, `"path":"gated","to":"gated"`, 1)
	got := g.calling(body, http.Header{"Mcp-Param-Path": {"gated"}})
	g.edit(g.pending(1)[0], "ann", `{"path":"b","to":"gated"}`, "")
	if out := <-got; !strings.Contains(out, "which cannot be sent (keeping header Mcp-Param-Path in step") || !strings.Contains(out, `"isError":true`) {
		t.Errorf("got %s", out)
	}
	if len(seen.all()) != 0 {
		t.Errorf("the server got %q", seen.all())
	}
}

func TestEditedRefusedAndNotedCallsOfABatch(t *testing.T) {
	t.Parallel()
	const results = `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]`
	for _, refused := range []bool{false, true} {
		g, seen := newMCPGate(t, answerJSON(200, results))
		got := g.calling("["+toolCall("1", "gated one")+", "+toolCall("2", "gated two")+"]", nil)
		for _, r := range g.pending(2) {
			switch {
			case strings.Contains(r.Briefing.Summary, "one"):
				g.edit(r, "ann", `{"path":"edited"}`, "")
			case refused:
				g.decide(r, holdgate.AnswerDeny, "no")
			default:
				g.decide(r, holdgate.AnswerApprove, "go")
			}
		}
		body := <-got
		if refused {
			if len(seen.all()) != 0 || strings.Count(body, `"isError":true`) != 2 {
				t.Errorf("one refused: the server got %q, the client\n%s", seen.all(), body)
			}
			continue
		}
		if want := "[" + toolCall("1", "edited") + ", " + toolCall("2", "gated two") + "]"; len(seen.all()) != 1 || seen.all()[0] != want {
			t.Errorf("the server got %q", seen.all())
		}
		if !strings.Contains(body, `"id":1,"result":{"_meta":`) || !strings.Contains(body, "and says: go") {
			t.Errorf("the client got\n%s", body)
		}
	}
}

func TestANoteIsNoReasonToLoseAnAnswer(t *testing.T) {
	t.Parallel()
	g, _ := newMCPGate(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`)
	})
	got := g.calling(toolCall("1", "gated"), http.Header{"Accept": {"application/json"}})
	g.decide(g.pending(1)[0], holdgate.AnswerApprove, "go")
	if body := <-got; body != `{"jsonrpc":"2.0","id":1,"id":1,"result":{}}` {
		t.Errorf("got %s", body)
	}
}
