package acp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/acp"
	"github.com/holdgate/holdgate/proxy/wire"
)

func request(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

const options = `"options":[{"optionId":"a","name":"A","kind":"allow_once"},{"optionId":"r","name":"R","kind":"reject_once"}]`

func TestWhatIsACall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line, tool, arguments, comes string }{
		{"a file is read", request("fs/read_text_file", `{"sessionId":"s","path":"/a","_meta":{"x":1}}`), "fs/read_text_file", `{"path":"/a"}`, ""},
		{"a file is written", request("fs/write_text_file", `{"path":"/a","sessionId":"s","content":"\u0041"}`), "fs/write_text_file", `{"path":"/a","content":"\u0041"}`, `{"path":"/a","content":"\u0041"}`},
		{"a command by itself is a line", request("terminal/create", `{"sessionId":"s","command":"ls; rm a","args":[],"cwd":"/w"}`), "terminal/create", `{"command":"ls; rm a","cwd":"/w"}`, ""},
		{"plain words are words", request("terminal/create", `{"sessionId":"s","command":"git","args":["push","--force"]}`), "terminal/create", `{"command":"git","args":["push","--force"]}`, ""},
		{"other words are a line as well", request("terminal/create", `{"sessionId":"s","command":"git","args":["log; rm a"]}`), "terminal/create", `{"command":"git","args":["log; rm a"],"commands":["git log; rm a"]}`, ""},
		{"a permission by title", request("session/request_permission", "{\"sessionId\":\"s\",\"toolCall\":{\"toolCallId\":\"t\",\"kind\":\"execute\",\"title\":\"`rm a`\"},"+options+"}"), "permission/execute", "{\"title\":\"`rm a`\",\"command\":\"rm a\"}", ""},
		{"a permission by input", request("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","kind":"execute","title":"Delete","rawInput":{"command":"rm a"}},`+options+`}`), "permission/execute", `{"title":"Delete","input":{"command":"rm a"}}`, ""},
		{"a permission by title, where the input has no command", request("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","kind":"execute","title":"rm a","rawInput":{"cwd":"/w"}},`+options+`}`), "permission/execute", `{"title":"rm a","command":"rm a","input":{"cwd":"/w"}}`, ""},
		{"a permission for an edit", request("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","kind":"edit","content":[{"type":"diff","path":"/a","oldText":"x","newText":"y"}],"locations":[{"path":"/a"}]},`+options+`}`),
			"permission/edit", `{"edits":[{"path":"/a","content":"y"}],"paths":["/a"]}`, `{"path":"/a","content":"y"}`},
		{"a kind that nobody knows", request("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","kind":"read edit"},`+options+`}`), "permission/other", `{}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := acp.Parse([]byte(c.line))
			if err != nil || !m.Acts() {
				t.Fatalf("it is no call: %v", err)
			}
			got, err := m.Call()
			if err != nil {
				t.Fatal(err)
			}
			comes := ""
			if got.Comes != nil {
				comes = string(got.Comes.Arguments)
			}
			if tool := got.Call.Tool; tool.Name != c.tool || string(tool.Arguments) != c.arguments || comes != c.comes {
				t.Errorf("it is %s %s, and comes as %s", tool.Name, tool.Arguments, comes)
			}
		})
	}
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, `{"jsonrpc":"2.0","id":1,"Method":"a","method":"b"}`, `{"jsonrpc":"2.0","id":1.0,"method":"a"}`,
		`{"jsonrpc":"2.0","id":{},"method":"a"}`, `{"id":1,"method":"a"}`, `{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`, `{"jsonrpc":"2.0","id":1,"method":"a","result":1}`,
		`[{"jsonrpc":"2.0","id":1,"method":"a"}]`, "{\"jsonrpc\":\"2.0\",\r\"id\":1,\"method\":\"a\"}", `{"jsonrpc":"2.0","id":1,"method":""}`,
	} {
		if m, err := acp.Parse([]byte(line)); err == nil {
			t.Errorf("%s was read as %+v", line, m)
		}
	}
	for _, line := range []string{
		request("fs/write_text_file", `{"sessionId":"s","Path":"/a"}`), request("fs/write_text_file", `{"path":"/b"}`), request("fs/write_text_file", `[]`),
		`{"jsonrpc":"2.0","method":"terminal/create","params":{"sessionId":"s","command":"ls"}}`, request("terminal/create", `{"sessionId":"s","command":["ls"]}`),
		request("terminal/create", `{"sessionId":"s","command":"ls","args":[1]}`), request("terminal/create", `{"sessionId":"s","command":"ls","args":["a"],"commands":["true"]}`),
		request("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","Kind":"read"},`+options+`}`),
		request("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"kind":"allow_once"}]}`), request("mcp/message", `{"sessionId":"s"}`),
	} {
		m, err := acp.Parse([]byte(line))
		if err != nil || !m.Acts() {
			t.Fatalf("%s: %v", line, err)
		}
		if c, err := m.Call(); err == nil {
			t.Errorf("%s was read as %+v", line, c.Call.Tool)
		}
	}
}

// An agent must not be able to change what the editor shows of a question.
func TestAQuestionHasAnIdThatTheAgentDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		request("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","kind":"execute","title":"ls"},`+options+`}`),
		request("fs/write_text_file", `{"sessionId":"s","path":"/a","content":"x"}`),
	} {
		m, err := acp.Parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		q, err := acp.Parse(m.Question(acp.Question{ID: "secret", Request: "known"}))
		if err != nil {
			t.Fatal(err)
		}
		if id := wire.TextIn(q.Param("toolCall"), "toolCallId"); id != "secret" {
			t.Errorf("it is shown as %q: %s", id, q.Raw)
		}
	}
}

// FuzzMessage: whatever comes, what is taken for a call has arguments that all readers
// take alike, and every answer is one message of one line.
func FuzzMessage(f *testing.F) {
	for _, line := range []string{
		request("fs/write_text_file", `{"sessionId":"s","path":"/a","content":"x"}`), request("terminal/create", `{"sessionId":"s","command":"a","args":["b c"]}`),
		request("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","kind":"edit","title":"x","content":[{"type":"diff","path":"/a","newText":"y"}],"locations":[{"path":"b"}],"rawInput":{"a":1}},`+options+`}`),
		`{"jsonrpc":"2.0","id":"x","result":{"outcome":{"outcome":"selected","optionId":"holdgate-allow"}}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := acp.Parse(line)
		if err != nil {
			return
		}
		m.Withdraws()
		m.Chosen()
		m.Folder()
		if !m.Acts() {
			return
		}
		c, err := m.Call()
		if err != nil {
			return
		}
		if err := wire.Strict(c.Call.Tool.Arguments); err != nil || c.Call.Tool.Arguments[0] != '{' {
			t.Errorf("arguments %s: %v", c.Call.Tool.Arguments, err)
		}
		answers := [][]byte{m.Refused("no\n"), m.Cancelled(), m.Question(acp.Question{ID: "q", Request: "r", Text: "t", Approve: true}), acp.Says(m.Session(), "x\ny"), acp.Ended(m.Session(), "q", true)}
		if a, ok := m.Allowed(); ok {
			answers = append(answers, a)
		}
		if !c.Fixed {
			edited, err := m.WithArguments(c.Call.Tool.Arguments)
			if err != nil {
				t.Errorf("its own arguments cannot be put back: %v", err)
			}
			answers = append(answers, edited)
		}
		for _, a := range answers {
			if !json.Valid(a) || wire.Strict(a) != nil {
				t.Errorf("%s is written as %s", line, a)
			}
			if strings.ContainsAny(string(a), "\n") && !strings.ContainsAny(string(line), "\n") {
				t.Errorf("%s takes several lines: %s", line, a)
			}
		}
	})
}

// Which way is meant is for the editor's user. That it is meant for good is not: Holdgate
// would not be asked again.
func TestAnAmbiguousQuestionOffersNothingForGood(t *testing.T) {
	t.Parallel()
	m, err := acp.Parse([]byte(request("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","kind":"edit","title":"x"},"options":[`+
		`{"optionId":"1","name":"Here","kind":"allow_once"},{"optionId":"2","name":"There","kind":"allow_once"},{"optionId":"3","name":"Always","kind":"allow_always"},{"optionId":"4","name":"No","kind":"reject_once"}]}`)))
	if err != nil || !m.Asks() {
		t.Fatalf("it asks: %t, %v", m.Asks(), err)
	}
	asked, err := acp.Parse(m.Asked())
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"optionId":"1","name":"Here","kind":"allow_once"},{"optionId":"2","name":"There","kind":"allow_once"},{"optionId":"4","name":"No","kind":"reject_once"}]`
	if got := string(asked.Param("options")); got != want || string(asked.ID) != string(m.ID) || asked.Session() != "s" {
		t.Errorf("the editor is asked %s", asked.Raw)
	}
}
