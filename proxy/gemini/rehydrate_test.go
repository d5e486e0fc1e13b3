package gemini_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/gemini"
	"github.com/holdgate/holdgate/proxy/wire"
)

func notRun(name string) string { return "[holdgate] " + name + " was not run" }

func remembered(t testing.TB, ps []wire.Part) (refused []wire.Refused) {
	t.Helper()
	for _, p := range ps {
		if p.Call == nil {
			continue
		}
		r, ok := (&gemini.Codec{}).Refused(p, notRun(p.Call.Tool.Name))
		if !ok {
			t.Fatalf("call %s cannot be put back", p.Call.Tool.Name)
		}
		r.Place = len(refused)
		refused = append(refused, r)
	}
	return refused
}

func refusedIn(t testing.TB, parts ...string) []wire.Refused {
	t.Helper()
	a, err := (&gemini.Codec{}).Answer([]byte(content(parts...)))
	if err != nil {
		t.Fatal(err)
	}
	return remembered(t, a.Calls())
}

func responseOf(name string) string {
	return `{"functionResponse":{"name":"` + name + `","response":{"error":"` + notRun(name) + `"}}}`
}

func TestRehydrate(t *testing.T) {
	t.Parallel()
	b, c := function("b", `{ "x":1.0}`), `{"function_call":{"id":"7","name":"c"}}`
	refused := refusedIn(t, signed, b, c)
	const (
		head = `{ "tools":[{"functionDeclarations":[]}], "contents":[ {"role":"user","parts":[{"text":"go"}]} , `
		tail = ` ], "x":1.0 }`
	)
	turn := func(role string, parts ...string) string {
		return `{"role":"` + role + `", "parts":[` + strings.Join(parts, ",") + `]}`
	}
	ran := `{"functionResponse":{"name":"b","response":{"output":"ok"}}}`
	responseC := strings.Replace(responseOf("c"), `"name"`, `"id":"7","name"`, 1)
	user := turn("user", text("?"))
	tests := []struct{ name, body, want string }{ // an empty want is the body
		{"a notice becomes its call with its signature, and its response stands alone",
			turn("model", text("So."), text("\n\n"+notRun("a")+"\n")) + " , " + user,
			turn("model", text("So."), signed) + `,{"role":"user","parts":[` + responseOf("a") + `]} , ` + user},
		{"texts that a client has joined are cut again",
			turn("model", text("So.\n\n"+notRun("a")+"\n\n\n"+notRun("b")+"\nAnd.")) + "," + user,
			turn("model", text("So."), signed, b, text("And.")) + `,{"role":"user","parts":[` + responseOf("a") + "," + responseOf("b") + `]},` + user},
		{"responses keep the order of the calls",
			turn("model", text(notRun("a")), b, text(notRun("c"))) + "," + turn("user", ran, text("?")),
			turn("model", signed, b, c) + "," + turn("user", responseOf("a"), ran, responseC, text("?"))},
		{"a byte more stays a text", turn("model", text(notRun("a")+".")) + "," + user, ""},
		{"a byte less stays a text", turn("model", text(notRun("a")[1:])) + "," + user, ""},
		{"words before it stay a text", turn("model", text("It said "+notRun("a"))) + "," + user, ""},
		{"a thought stays", turn("model", `{"thought":true,"text":"`+notRun("a")+`"}`) + "," + user, ""},
		{"the user's words stay a text", turn("user", text(notRun("a"))) + "," + user, ""},
		{"the last turn stays", turn("model", text(notRun("a"))), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.want == "" {
				tt.want = tt.body
			}
			for _, wrap := range [][2]string{{"", ""}, {`{"model":"m", "request" : `, ` }`}} {
				got, _, err := (&gemini.Codec{}).Rehydrate([]byte(wrap[0]+head+tt.body+tail+wrap[1]), refused)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(wrap[0]+head+tt.want+tail+wrap[1], string(got)); diff != "" {
					t.Errorf("the request differs (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestANoticeStaysInARequestWithoutTools(t *testing.T) {
	t.Parallel()
	refused := refusedIn(t, signed)
	body := `{"contents":[{"role":"model","parts":[` + text(notRun("a")) + `]},{"role":"user","parts":[]}]}`
	if got, n, err := (&gemini.Codec{}).Rehydrate([]byte(body), refused); n != 0 || err != nil || string(got) != body {
		t.Errorf("%s became %s (%d, %v)", body, got, n, err)
	}
}

func TestACallInFragmentsIsRememberedWhole(t *testing.T) {
	t.Parallel()
	st := (&gemini.Codec{}).Stream()
	var ps []wire.Part
	for _, part := range []string{
		`{"functionCall":{"name":"a","willContinue":true},"thoughtSignature":"c2ln"}`,
		`{"functionCall":{"partialArgs":[{"jsonPath":"$.x","stringValue":"y"}],"willContinue":true}}`,
		`{"functionCall":{}}`,
	} {
		more, err := st.Push([]byte("data: " + content(part) + "\r\n\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, more...)
	}
	refused := remembered(t, ps)
	want := `{"functionCall":{"name":"a","args":{"x":"y"}},"thoughtSignature":"c2ln"}`
	if len(refused) != 1 || string(refused[0].Call) != want {
		t.Errorf("remembered %+v, want %s", refused, want)
	}
}

// Whatever a request is, what comes out is strict JSON, and no byte of it has
// changed where nothing was put back.
func FuzzRehydrate(f *testing.F) {
	refused := refusedIn(f, signed, function("b", "{}"))
	f.Add([]byte(`{"tools":[{}],"contents":[{"role":"model","parts":[` + text(notRun("a")+"\n"+notRun("b")) + `]},{"role":"user","parts":[{"functionResponse":{}}]}]}`))
	f.Add([]byte(`{"request":{"tools":{},"contents":[{"role":"model","parts":[` + text("x\n\n"+notRun("a")) + `]},{"parts":null}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if wire.Strict(body) != nil {
			return
		}
		if d, err := wire.ReadDocument(body); err == nil {
			_, _ = (&gemini.Codec{}).History(d) // must not fall over
		}
		got, n, err := (&gemini.Codec{}).Rehydrate(body, refused)
		switch {
		case err != nil:
		case n == 0 && string(got) != string(body):
			t.Errorf("%s became %s", body, got)
		case wire.Strict(got) != nil:
			t.Errorf("%s became %s", body, got)
		}
	})
}
