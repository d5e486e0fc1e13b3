package responses_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/responses"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A client that repeats a conversation asks the same as one that goes on from a response,
// and as one that asks over HTTP; one with another conversation does not.
func TestWhatNamesAMessage(t *testing.T) {
	c := &responses.Codec{}
	k := c.Talk()
	asks := func(k wire.Talk, message string) string {
		t.Helper()
		m, err := k.Asks([]byte(message))
		if err != nil {
			t.Fatal(err)
		}
		return string(m.Identity)
	}
	asks(k, `{"type":"response.create","model":"m","generate":false,"input":[{"type":"message","role":"developer","content":"be good"}]}`)
	k.Tells([]byte(`{"type":"response.completed","response":{"id":"r0","output":[]}}`))
	asks(k, `{"type":"response.create","model":"m","previous_response_id":"r0","input":"go"}`)
	for _, event := range []string{
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs","encrypted_content":"x"}}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"m1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"well","annotations":[]}]}}`,
		`{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc","call_id":"c1","name":"Bash","arguments":"{}"}}`,
		`{"type":"response.completed","response":{"id":"r1"}}`,
	} {
		k.Tells([]byte(event))
	}
	want := asks(k, `{"type":"response.create","model":"m","stream":true,"client_metadata":{"at":"1"},"previous_response_id":"r1","input":[{"type":"function_call_output","id":"o1","call_id":"c1","output":"ok"}]}`)
	const again = `"input":[{"role":"developer","content":[{"type":"input_text","text":"be good"}]},{"role":"user","content":"go"},` +
		`{"role":"assistant","content":"well"},{"type":"function_call","call_id":"c1","name":"Bash","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"ok"}]}`
	for name, row := range map[string]struct {
		message string
		same    bool
	}{
		"repeated":                     {`{"type":"response.create","model":"m",` + again + `]}`, true},
		"repeated with what had begun": {`{"type":"response.create","model":"m",` + again + `,{"role":"assistant","content":"I will"}]}`, true},
		"with another model":           {`{"type":"response.create","model":"n",` + again + `]}`, false},
		"with other words":             {strings.Replace(`{"type":"response.create","model":"m",`+again+`]}`, "be good", "be bad", 1), false},
		"with another result":          {strings.Replace(`{"type":"response.create","model":"m",`+again+`]}`, `"ok"`, `"no"`, 1), false},
		"with a tool":                  {`{"type":"response.create","model":"m","tools":[],` + again + `]}`, false},
		"with parts that run together": {strings.Replace(`{"type":"response.create","model":"m",`+again+`]}`, `{"type":"input_text","text":"be good"}`, `{"type":"input_text","text":"be "},{"type":"input_text","text":"good"}`, 1), false},
		"with a part that has more":    {strings.Replace(`{"type":"response.create","model":"m",`+again+`]}`, `{"type":"input_text","text":"be good"}`, `{"type":"input_image","text":"be good","image_url":"x"}`, 1), false},
		"with tools in a result":       {strings.Replace(`{"type":"response.create","model":"m",`+again+`]}`, `"call_id":"c1","output"`, `"call_id":"c1","tools":[{"type":"mcp"}],"output"`, 1), false},
		"with more":                    {`{"type":"response.create","model":"m",` + again + `,{"role":"user","content":"on"}]}`, false},
		"from an unknown response":     {`{"type":"response.create","model":"m","previous_response_id":"r9","input":[{"type":"function_call_output","call_id":"c1","output":"ok"}]}`, false},
	} {
		if got := asks(c.Talk(), row.message); (got == want) != row.same {
			t.Errorf("%s: it is the same: %t", name, got == want)
		}
	}
	over, err := c.Identity([]byte(`{"model":"m","stream":true,` + again + `]}`))
	if err != nil || string(over) != want {
		t.Errorf("over HTTP it is another request (%v)", err)
	}
}

// FuzzTalk reads whatever comes on a connection. What is taken for a request is one object
// of the one type, with nothing in it that is asked for beside.
func FuzzTalk(f *testing.F) {
	for _, seed := range []string{
		`{"type":"response.create","model":"m","input":"go"}`, `{"type":"response.create","stream_id":null,"input":[{"role":"user","content":[{"text":"a"}]},{}, 1]}`,
		`{"type":"response.cancel"}`, `{"type":"response.create","response":{}}`, `{"type":"response.output_item.done","item":{"call_id":"c"}}`,
		`{"type":"response.completed","response":{"id":"r"}}`, `{"error":{}}`, "\ufeff{}", `{"type":"response.create","type":"x"}`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		c := &responses.Codec{}
		k := c.Talk()
		k.Ends(message)
		k.Tells(message)
		between := k.Between(message)
		m, err := k.Asks(message)
		if err == nil {
			if wire.Strict(message) != nil || len(m.Identity) == 0 {
				t.Fatalf("%q was taken for a request", message)
			}
			for name, want := range map[string]string{"type": "response.create", "stream_id": "", "response": ""} {
				if got := wire.TextIn(message, name); got != want {
					t.Fatalf("%q was taken for a request: %s is %q", message, name, got)
				}
			}
			if same, err := c.Talk().Asks(message); err != nil || string(same.Identity) != string(m.Identity) && len(wire.Find(message, "previous_response_id")) == 0 {
				t.Fatalf("%q is another request the second time: %v", message, err)
			}
		}
		if between && (wire.Find(message, "item") != nil || wire.Find(message, "response") != nil || err == nil) {
			t.Fatalf("%q may come between two answers", message)
		}
		if body := k.Refusal(400, nil, message); wire.StrictEvent(body) != nil && wire.Strict(message) == nil {
			t.Fatalf("a refusal with %q is %s", message, body)
		}
	})
}
