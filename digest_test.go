package holdgate_test

import (
	"bytes"
	"testing"

	"github.com/holdgate/holdgate"
)

// Digests are stored: they stay what they are from one version to the next,
// and however the arguments are written.
func TestADigestStaysWhatItIs(t *testing.T) {
	d, err := holdgate.NewDigester(bytes.Repeat([]byte("k"), 32))
	if err != nil {
		t.Fatal(err)
	}
	const listed, written = "c4af8aa3ee628d8984be0f4897b53510edfcc67cc61be354a391705a3f1f3ecf", "ed8ba156e6d707a764ded668e5ef76a66a5ecdc18634ad1208f644f7205dfc0b"
	for name, c := range map[string]struct {
		tool holdgate.Tool
		want holdgate.Digest
	}{
		"arguments in canonical form":   {holdgate.Tool{Name: "Bash", Arguments: []byte(`{"command":"ls"}`)}, listed},
		"the same with blanks":          {holdgate.Tool{Name: "Bash", Arguments: []byte(` {"command" : "ls"}`)}, listed},
		"the same with an escape":       {holdgate.Tool{Name: "Bash", Arguments: []byte(`{"command":"\u006cs"}`)}, listed},
		"a server and keys in no order": {holdgate.Tool{Server: "files", Name: "write", Arguments: []byte(`{"text": "é\/","path":"a", "n":1.50}`)}, written},
		"the same, sorted":              {holdgate.Tool{Server: "files", Name: "write", Arguments: []byte(`{"n":1.50,"path":"a","text":"é/"}`)}, written},
		"arguments that are no JSON":    {holdgate.Tool{Name: "Bash", ArgumentsRaw: "{oops"}, "2c8785612409bd32388b3e0b19778cb9b23e49c34fe4c7eb6e45d9d539ee3991"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := d.Tool(&c.tool); got != c.want || err != nil {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
	if got := d.Fields("request", "POST", "", "x"); got != "8c9f26f02d6a32ea7810ddd473bee3fa9b68685b6fc7230e93a4040dd8ef92fc" {
		t.Errorf("fields: got %s", got)
	}
}
