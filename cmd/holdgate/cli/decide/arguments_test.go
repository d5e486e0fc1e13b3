package decide

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestSetChangesOneArgument(t *testing.T) {
	const args = `{"command":"ls","n":1.0,"deep":{"a/b":[{"x":"1"},2]},"e":{}}`
	for set, want := range map[string]string{
		"command=rm -rf a=b":     `{"command":"rm -rf a=b","n":1.0,"deep":{"a/b":[{"x":"1"},2]},"e":{}}`,
		"command=":               `{"command":"","n":1.0,"deep":{"a/b":[{"x":"1"},2]},"e":{}}`,
		"command:=null":          `{"command":null,"n":1.0,"deep":{"a/b":[{"x":"1"},2]},"e":{}}`,
		"n:=1e400":               `{"command":"ls","n":1e400,"deep":{"a/b":[{"x":"1"},2]},"e":{}}`,
		"n=2":                    `{"command":"ls","n":"2","deep":{"a/b":[{"x":"1"},2]},"e":{}}`,
		"/deep/a~1b/0/x=<é>":     `{"command":"ls","n":1.0,"deep":{"a/b":[{"x":"<é>"},2]},"e":{}}`,
		"deep.a/b.1:={ }":        `{"command":"ls","n":1.0,"deep":{"a/b":[{"x":"1"},{ }]},"e":{}}`,
		`e:={"new":"x"}`:         `{"command":"ls","n":1.0,"deep":{"a/b":[{"x":"1"},2]},"e":{"new":"x"}}`,
		"/deep/a~1b/2:=3":        "",
		"e.new=x":                "",
		"/commnd=ls":             "",
		"x":                      "",
		"=x":                     "",
		":=1":                    "",
		"n:=":                    "",
		"n:=1 2":                 "",
		"command.x=1":            "",
		"new.deeper=1":           "",
		"/deep/a~1b/3=over":      "",
		"/deep/a~1b/-1=negative": "",
	} {
		got, err := setArgument(jsontext.Value(args), set)
		switch {
		case want == "" && err == nil:
			t.Errorf("--set %q gives %s, want an error", set, got)
		case want != "" && (err != nil || strings.ReplaceAll(string(got), " ", "") != strings.ReplaceAll(want, " ", "")):
			t.Errorf("--set %q gives %s, %v, want %s", set, got, err, want)
		}
	}
}

func TestTheDiffShowsEveryChangeAndNothingElse(t *testing.T) {
	tests := []struct{ name, before, after, want string }{
		{"a text", `{"a":"x","b":1}`, `{"a":"y","b":1}`, "  - /a: x\n  + /a: y\n"},
		{"a line of a text", `{"a":"one\ntwo\nthree"}`, `{"a":"one\n2\nthree"}`, "  - /a: two\n  + /a: 2\n"},
		{"a text to a number that reads alike", `{"a":"1"}`, `{"a":1}`, "  - /a: \"1\"\n  + /a: 1\n"},
		{"a number that is written otherwise", `{"a":1.0}`, `{"a":1}`, "  - /a: 1.0\n  + /a: 1\n"},
		{"what goes and what comes", `{"a":"x","l":[1,2]}`, `{"b":"x","l":[1]}`, "  - /a: x\n  - /l/1: 2\n  + /b: x\n"},
		{"an object that becomes empty", `{"a":{"x":1}}`, `{"a":{}}`, "  - /a/x: 1\n  + /a: {}\n"},
		{"an empty list to an empty object", `{"a":[]}`, `{"a":{}}`, "  - /a: []\n  + /a: {}\n"},
		{"what a screen would hide", `{"a":"x"}`, "{\"a\":\"x\u202e\"}", "  - /a: x\n  + /a: x⟨U+202E⟩\n"},
		{"a key with a slash", `{"a/b":"x"}`, `{"a/b":"y"}`, "  - /a~1b: x\n  + /a~1b: y\n"},
		{"another order", `{"a":1,"b":2}`, `{"b":2,"a":1}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			if err := printDiff(&b, "edited", []byte(tt.before), []byte(tt.after)); err != nil {
				t.Fatal(err)
			}
			if got, want := b.String(), "\nedited\n"+tt.want; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Whatever is set where, the result is JSON in which only that place differs.
func FuzzSetArgument(f *testing.F) {
	f.Add(`{"command":"ls"}`, "command=rm")
	f.Add(`{"a":[1,{"b":null}]}`, "/a/1/b:={\"c\":[]}")
	f.Add(`{"a":"x"}`, "a.b=1")
	f.Add(`[]`, "0=1")
	f.Add(`{"a":1,"a":2}`, "a=1")
	f.Fuzz(func(t *testing.T, args, set string) {
		v := jsontext.Value(args)
		if !v.IsValid() || v.Kind() != '{' {
			return
		}
		out, err := setArgument(v, set)
		if err != nil {
			return
		}
		if !out.IsValid() || out.Kind() != '{' {
			t.Fatalf("--set %q on %s gives %s", set, args, out)
		}
		var b strings.Builder
		if err := printDiff(&b, "", v, out); err != nil {
			t.Errorf("showing the change from %s to %s: %v", args, out, err)
		}
	})
}
