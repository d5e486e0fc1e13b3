package redact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
)

func TestAResultWithoutWhatIsRedacted(t *testing.T) {
	const body = `{ "content":[{"type":"text","text":"a\u0020SECRET b SECRET"}], "SECRET~/":1.50, "blob":"U0VDUkVU","left":[true] }`
	found := []holdgate.FoundSecret{
		{Pointer: "/content/0/text", Start: 2, End: 8}, {Pointer: "/content/0/text", Start: 11, End: 17},
		{Pointer: "/SECRET~0~1", Name: true, Start: 0, End: 6},
		{Pointer: "/blob", Encoded: true},
	}
	for name, c := range map[string]struct {
		pointers []string
		want     string
		hidden   int
	}{
		"nothing":      {nil, body, 0},
		"of the call":  {[]string{"/tool/arguments/x"}, body, 0},
		"secrets":      {[]string{"/result/secrets"}, `{ "content":[{"type":"text","text":"a [redacted] b [redacted]"}], "[redacted]~/":1.50, "blob":"W3JlZGFjdGVkXQ==","left":[true] }`, 4},
		"a value":      {[]string{"/result/body/left"}, strings.Replace(body, "[true]", `"[redacted]"`, 1), 1},
		"both":         {[]string{"/result/secrets", "/result/body/content"}, `{ "content":"[redacted]", "[redacted]~/":1.50, "blob":"W3JlZGFjdGVkXQ==","left":[true] }`, 3},
		"all of it":    {[]string{"/result"}, "", 0},
		"all the text": {[]string{"/result/text"}, "", 0},
		"the body":     {[]string{"/result/body"}, "", 0},
		"no pointer":   {[]string{"secrets"}, "", 0},
	} {
		got, hidden, ok := Result(&holdgate.Result{Body: []byte(body), Secrets: found}, c.pointers)
		if diff := cmp.Diff(c.want, string(got)); diff != "" || hidden != c.hidden || ok != (c.want != "") {
			t.Errorf("%s: hidden %d, ok %v\n%s", name, hidden, ok, diff)
		}
	}
}

// People see no secret of a result, whatever policy lets the agent have, and
// nothing of one that was not searched.
func TestAResultAsPeopleSeeIt(t *testing.T) {
	r := &holdgate.Result{Body: []byte(`{"t":"SECRET x"}`), Text: "SECRET x\n", Secrets: []holdgate.FoundSecret{{Pointer: "/t", End: 6}}}
	c := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "t", Arguments: []byte("{}")}, Result: r}
	shown, hidden := Call(c, nil)
	if string(shown.Result.Body) != `{"t":"[redacted] x"}` || shown.Result.Text != "" || hidden != 1 {
		t.Errorf("shown %s %q, hidden %d", shown.Result.Body, shown.Result.Text, hidden)
	}
	r.Unread = true
	if shown, _ = Call(c, nil); string(shown.Result.Body) != `"[redacted]"` {
		t.Errorf("unread: shown %s", shown.Result.Body)
	}
	if string(r.Body) != `{"t":"SECRET x"}` {
		t.Error("the result itself was changed")
	}
}
