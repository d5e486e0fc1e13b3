package mcp

import (
	"fmt"
	"strings"
	"testing"
)

// Readers in Go take a member whose name differs in case.
func TestParametersInAnotherCaseAreRefused(t *testing.T) {
	for _, body := range []string{
		`{"method":"resources/read","params":{"URI":"file:///etc/shadow"}}`,
		`{"method":"resources/read","params":{"ur\u0131":"x","Uri":"file:///etc/shadow"}}`,
		`{"method":"resources/subscribe","params":{"Uri":"x"}}`,
		`{"method":"prompts/get","params":{"Name":"x"}}`,
		`{"method":"prompts/get","params":{"name":"x","Arguments":{}}}`,
		`{"method":"completion/complete","params":{"REF":{}}}`,
		`{"method":"completion/complete","params":{"ref":{"type":"ref/resource","URI":"x"}}}`,
		`{"method":"completion/complete","params":{"ref":{},"argument":{"Value":"x"}}}`,
		`{"method":"logging/setLevel","params":{"Level":"debug"}}`,
		`{"method":"tasks/cancel","params":{"TaskID":"x"}}`,
		`{"method":"tasks/result","params":{"taskid":"x"}}`,
		`{"method":"acme/unknown","params":{"Name":"x"}}`,
		`{"method":"acme/unknown","params":{"_META":{}}}`,
		`{"method":"tools/list","params":{"Cursor":"x"}}`,
		`{"method":"initialize","params":{"ClientInfo":{}}}`,
		`{"method":"sampling/createMessage","params":{"\u004dessages":[]}}`,
		`{"method":"elicitation/create","params":{"mode":"form","Mode":"url","URL":"https://x"}}`,
		`{"method":"elicitation/create","params":{"URL":"https://x"}}`,
		`{"method":"tools/call","params":{"name":"x","ARGUMENTS":{}}}`,
	} {
		body = `{"jsonrpc":"2.0","id":1,` + body[1:]
		if _, _, err := Parse([]byte(body)); err == nil {
			t.Errorf("a client's %s is taken", body)
		}
		if _, _, err := ParseServer([]byte(body)); err == nil {
			t.Errorf("a server's %s is taken", body)
		}
		if _, _, err := Parse([]byte("[" + body + "]")); err == nil {
			t.Errorf("%s is taken in a batch", body)
		}
		_, rest, _ := strings.Cut(body, `"id":1,`)
		asks := `{"jsonrpc":"2.0","id":1,"result":{"inputRequests":{"a":{` + rest + `}}}`
		if _, _, err := ParseServer([]byte(asks)); err == nil {
			t.Errorf("%s is taken", asks)
		}
	}
	for _, body := range []string{
		`{"method":"resources/read","params":{"uri":"x","url":"y","identifier":1}}`,
		`{"method":"prompts/get","params":{"name":"x","arguments":{"URI":"x","Name":"y","name":"z2"}}}`,
		`{"method":"acme/unknown","params":{"Level":1,"Ref":{"Uri":1},"names":[]}}`,
		`{"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"x","title":"X"},"argument":{"name":"a","value":"b"},"context":{"arguments":{"Name":"x"}}}}`,
		`{"method":"notifications/initialized"}`,
		`{"method":"ping","params":{}}`,
	} {
		body = `{"jsonrpc":"2.0","id":1,` + body[1:]
		if _, _, err := Parse([]byte(body)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestAnswersInAnotherCaseAreRefused(t *testing.T) {
	for result, refused := range map[string]bool{
		`{"Action":"accept"}`:                                                                      true,
		`{"action":"decline","ACTION":"accept"}`:                                                   true,
		`{"action":"accept","Content":{"a":1}}`:                                                    true,
		`{"_META":{},"action":"cancel"}`:                                                           true,
		`{"\u0052ole":"user","content":[]}`:                                                        true,
		`{"role":"assistant","Model":"m"}`:                                                         true,
		`{"role":"assistant","model":"m","content":{"type":"text","Text":"x"}}`:                    true,
		`{"role":"assistant","model":"m","content":[{"type":"text","text":"x"},{"Type":"image"}]}`: true,
		`{"Roots":[]}`: true,
		`{"roots":[{"uri":"file:///a"},{"URI":"file:///etc"}]}`:                                          true,
		`{"action":"accept","content":{"Text":"x","Type":1,"text":2,"URI":"y"}}`:                         false,
		`{"roots":[{"uri":"file:///a","name":"a","more":1}],"more":{"Action":1}}`:                        false,
		`{"role":"assistant","model":"m","content":{"type":"text","text":"x","annotations":{"Text":1}}}`: false,
		`{}`: false, `null`: false, `"Action"`: false, `{"role":1,"content":"x","roots":{}}`: false, `{"roots":["Uri"]}`: false,
	} {
		msgs, _, err := Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range msgs[0].Answers() {
			if err := answer.CheckAnswer(); (err != nil) != refused {
				t.Errorf("%s: %v", result, err)
			}
		}
		if msgs, _, err = Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","inputResponses":{"Action":` + result + `}}}`)); err != nil {
			t.Fatal(err)
		}
		for _, answer := range msgs[0].Answers() {
			if err := answer.CheckAnswer(); (err != nil) != refused {
				t.Errorf("put in, %s: %v", result, err)
			}
		}
	}
}

func TestKeyTellsApartWhatElseIsSent(t *testing.T) {
	const base = `{"name":"f","arguments":{"a":1}}`
	tests := []struct {
		params string
		same   bool
	}{
		{`{"name":"f","arguments":{"a":1},"_meta":{}}`, true},
		{`{"name":"f","arguments":{"a":1},"_meta":{"progressToken":9,"traceparent":"00-1","tracestate":"x","baggage":"y"}}`, true},
		{`{"name":"f","arguments":{"a":1},"_meta":{"claudecode/toolUseId":"toolu_1","callId":"call_1","x-codex-turn-metadata":{"turn":1}}}`, true},
		{`{"name":"f","arguments":{"a":1},"task":{"ttl":1}}`, true},
		{`{"name":"f","arguments":{"a":1},"_meta":{"tenant":"b"}}`, false},
		{`{"name":"f","arguments":{"a":1},"_meta":{"ProgressToken":9}}`, false},
		{`{"name":"f","arguments":{"a":1},"_meta":"x"}`, false},
		{`{"name":"f","arguments":{"a":1},"requestState":"x"}`, false},
		{`{"name":"f","arguments":{"a":1},"inputResponses":{"a":{"action":"accept"}}}`, false},
		{`{"name":"f","arguments":{"a":1},"more":1}`, false},
	}
	key := func(params string) string {
		k, err := Message{Method: "tools/call", Params: []byte(params)}.Key()
		if err != nil {
			t.Fatal(err)
		}
		return string(k)
	}
	for _, tt := range tests {
		if same := key(tt.params) == key(base); same != tt.same {
			t.Errorf("%s: the same key is %v, want %v", tt.params, same, tt.same)
		}
	}
	if key(`{"name":"f","_meta":{"a":1,"b":2}}`) != key(`{"_meta":{"b":2,"progressToken":1,"a":1},"name":"f"}`) {
		t.Error("the order of metadata makes another key")
	}
}

// A held call keeps its message, and no multiple of it.
func TestManyParametersAreNotKept(t *testing.T) {
	var body strings.Builder
	body.WriteString(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`)
	for i := range 10_000 {
		fmt.Fprintf(&body, `"%d":0,`, i)
	}
	body.WriteString(`"name":"Bash","arguments":{"command":"ls"}}}`)
	msgs, _, err := Parse([]byte(body.String()))
	if err != nil {
		t.Fatal(err)
	}
	if n := cap(msgs[0].params); n > 0 {
		t.Errorf("places of %d parameters are kept", n)
	}
	c, ok, err := msgs[0].Call("s")
	if err != nil || !ok || c.Tool.Name != "Bash" || string(c.Tool.Arguments) != `{"command":"ls"}` {
		t.Errorf("it is read as %+v, %t, %v", c.Tool, ok, err)
	}
}
