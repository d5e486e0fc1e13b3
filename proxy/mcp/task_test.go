package mcp_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/wire"
)

func TestTheFormOfATask(t *testing.T) {
	const declared = `"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	for _, tt := range []struct {
		name, message string
		want          mcp.TaskForm
		ttl           time.Duration
	}{
		{"asked for", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","task":{"ttl":60000}}}`, mcp.Task25, time.Minute},
		{"without a time", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","task":{}}}`, mcp.Task25, 0},
		{"with a senseless one", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","task":{"ttl":-1}}}`, mcp.Task25, 0},
		{"declared", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",` + declared + `}}`, mcp.Task26, 0},
		{"neither", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`, mcp.NoTask, 0},
		{"no object", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","task":true}}`, mcp.NoTask, 0},
		{"another method", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a","task":{}}}`, mcp.NoTask, 0},
		{"a notification", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a","task":{}}}`, mcp.NoTask, 0},
	} {
		msgs, _, err := mcp.Parse([]byte(tt.message))
		if err != nil {
			t.Fatal(err)
		}
		if got := msgs[0].TaskForm(); got != tt.want || tt.want != mcp.NoTask && msgs[0].TaskTTL() != tt.ttl {
			t.Errorf("%s: %q for %v", tt.name, got, msgs[0].TaskTTL())
		}
	}
}

func TestRenameTasks(t *testing.T) {
	other := func(id string) string { return map[string]string{"a": "b\"x"}[id] }
	for _, tt := range []struct{ name, message, want string }{
		{"a request", `{"id":1, "method":"tasks/get","params":{ "taskId" : "a" }}`, `{"id":1, "method":"tasks/get","params":{ "taskId" : "b\"x" }}`},
		{"written otherwise", `{"params":{"taskId":"\u0061"}}`, `{"params":{"taskId":"b\"x"}}`},
		{"another task", `{"params":{"taskId":"c"}}`, `{"params":{"taskId":"c"}}`},
		{"a made task", `{"id":1,"result":{"task":{"taskId":"a","ttl":1}}}`, `{"id":1,"result":{"task":{"taskId":"b\"x","ttl":1}}}`},
		{"a list", `{"id":1,"result":{"tasks":[{"taskId":"c"}, {"taskId":"a"}]}}`, `{"id":1,"result":{"tasks":[{"taskId":"c"}, {"taskId":"b\"x"}]}}`},
		{"a status", `{"method":"notifications/tasks/status","params":{"taskId":"a","status":"x"}}`, `{"method":"notifications/tasks/status","params":{"taskId":"b\"x","status":"x"}}`},
		{"what belongs to a task", `{"id":1,"method":"elicitation/create","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}`, `{"id":1,"method":"elicitation/create","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"b\"x"}}}}`},
		{"its answer", `{"id":1,"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}},"action":"decline"}}`, `{"id":1,"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"b\"x"}},"action":"decline"}}`},
		{"of the other revision", `{"id":1,"result":{"resultType":"task","taskId":"a"}}`, `{"id":1,"result":{"resultType":"task","taskId":"b\"x"}}`},
		{"what a tool says", `{"id":1,"result":{"structuredContent":{"taskId":"a"},"content":[{"taskId":"a"}]}}`, `{"id":1,"result":{"structuredContent":{"taskId":"a"},"content":[{"taskId":"a"}]}}`},
		{"odd shapes", `{"id":1,"result":{"task":7,"tasks":{"taskId":"a"},"taskId":["a"],"_meta":null}}`, `{"id":1,"result":{"task":7,"tasks":{"taskId":"a"},"taskId":["a"],"_meta":null}}`},
		{"no object", `[1]`, `[1]`},
	} {
		if got := string(mcp.RenameTasks([]byte(tt.message), other)); got != tt.want {
			t.Errorf("%s: got %s", tt.name, got)
		}
	}
}

func FuzzRenameTasks(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"result":{"tasks":[{"taskId":"a"}],"task":{"taskId":"a"},"taskId":"a","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}`,
		`{"params":{"taskId":"\ud83d\ude00"}}`, `{"params":{}}`, `{}`, `{"result":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		message = bytes.Trim(message, " \t\r\n")
		if wire.Strict(message) != nil {
			return
		}
		if got := mcp.RenameTasks(message, func(string) string { return "" }); !bytes.Equal(got, message) {
			t.Errorf("%s became %s", message, got)
		}
		there := mcp.RenameTasks(message, func(id string) string { return "~" + id })
		if err := wire.Strict(there); err != nil {
			t.Fatalf("%s became %s: %v", message, there, err)
		}
		back := mcp.RenameTasks(there, func(id string) string { s, _ := strings.CutPrefix(id, "~"); return s })
		one, err1 := wire.CanonicalWithout(message)
		two, err2 := wire.CanonicalWithout(back)
		if err1 == nil && err2 == nil && !bytes.Contains(message, []byte(`""`)) && !bytes.Equal(one, two) {
			t.Errorf("%s came back as %s", message, back)
		}
	})
}

func TestATaskInBothRevisions(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	task := mcp.Task{ID: "x", Status: mcp.TaskCompleted, Created: at, Updated: at, TTL: time.Hour, Poll: time.Second, Answer: []byte(`{"jsonrpc":"2.0","id":9,"result":{"content":[]}}`)}
	const shown = `"taskId":"x","status":"completed","createdAt":"2026-01-02T03:04:05.006Z","lastUpdatedAt":"2026-01-02T03:04:05.006Z",`
	task.Form = mcp.Task25
	for got, want := range map[string]string{
		string(task.CreatedAnswer([]byte("1"))): `{"jsonrpc":"2.0","id":1,"result":{"task":{` + shown + `"ttl":3600000,"pollInterval":1000}}}`,
		string(task.Got([]byte(`"a"`))):         `{"jsonrpc":"2.0","id":"a","result":{` + shown + `"ttl":3600000,"pollInterval":1000}}`,
		string(task.Result([]byte("2"))):        `{"jsonrpc":"2.0","id":2,"result":{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x"}}}}`,
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	task.Form = mcp.Task26
	for got, want := range map[string]string{
		string(task.CreatedAnswer([]byte("1"))): `{"jsonrpc":"2.0","id":1,"result":{"resultType":"task",` + shown + `"ttlMs":3600000,"pollIntervalMs":1000}}`,
		string(task.Got([]byte("1"))):           `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",` + shown + `"ttlMs":3600000,"pollIntervalMs":1000,"result":{"content":[]}}}`,
		string(task.Cancelled([]byte("1"))):     `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`,
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
