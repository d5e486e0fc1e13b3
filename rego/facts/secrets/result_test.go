package secrets

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
)

const awsKey = "AKIA" + "Z7VTQ4NNBWQJ3M2L"

func TestReadResult(t *testing.T) {
	pem := `-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----`
	blob := base64.StdEncoding.EncodeToString([]byte("key=" + awsKey))
	for name, c := range map[string]struct {
		body string
		want []string // the texts that are secret
		text string
	}{
		"none":            {`{"content":[{"type":"text","text":"hello"}],"n":1}`, nil, "hello\n"},
		"twice in a text": {`{"content":[{"type":"text","text":"a ` + awsKey + ` b ` + awsKey + `"}]}`, []string{awsKey, awsKey}, "a " + awsKey + " b " + awsKey + "\n"},
		"escaped":         {`{"t":"\u0041KIA` + awsKey[4:] + `"}`, []string{awsKey}, awsKey + "\n"},
		"a whole key":     {`{"t":"x ` + pem + ` y"}`, []string{strings.ReplaceAll(pem, `\n`, "\n")}, "x " + strings.ReplaceAll(pem, `\n`, "\n") + " y\n"},
		"a key cut off":   {`{"t":"x ` + pem[:50] + `"}`, []string{strings.ReplaceAll(pem[:50], `\n`, "\n")}, "x " + strings.ReplaceAll(pem[:50], `\n`, "\n") + "\n"},
		"a name":          {`{"` + awsKey + `":{"a/b":1}}`, []string{awsKey}, ""},
		"encoded":         {`{"contents":[{"uri":"u","blob":"` + blob + `"}]}`, []string{"key=" + awsKey}, "u\n"},
		"by a known rule": {`{"t":"api_token = \"dop_v1_` + strings.Repeat("9f3c71be", 8) + `\""}`, []string{"dop_v1_" + strings.Repeat("9f3c71be", 8)}, "api_token = \"dop_v1_" + strings.Repeat("9f3c71be", 8) + "\"\n"},
		"no object":       {`"` + awsKey + `"`, []string{awsKey}, awsKey + "\n"},
	} {
		r := ReadResult(t.Context(), []byte(c.body), false)
		if r.Unread || r.Cut {
			t.Errorf("%s: unread %v, cut %v", name, r.Unread, r.Cut)
		}
		if r.Text != c.text {
			t.Errorf("%s: text %q, want %q", name, r.Text, c.text)
		}
		var got []string
		for _, s := range r.Secrets {
			text := r.Text
			switch {
			case s.Name:
				text = strings.TrimPrefix(s.Pointer, "/")
			case s.Encoded:
				text = "key=" + awsKey
				s.Start, s.End = 0, len(text)
			}
			got = append(got, text[s.Start:s.End])
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestReadResultSaysWhatItDidNotRead(t *testing.T) {
	long := ReadResult(t.Context(), []byte(`{"t":"`+strings.Repeat("x", maxResultText+9)+`"}`), true)
	if !long.Cut || long.Unread || len(long.Text) > maxResultText || !long.IsError {
		t.Errorf("a long text: cut %v, unread %v, %d bytes", long.Cut, long.Unread, len(long.Text))
	}
	huge := ReadResult(t.Context(), []byte(`{"t":"`+strings.Repeat("x", maxResultBytes)+awsKey+`"}`), false)
	if !huge.Unread {
		t.Error("a huge text counts as read")
	}
	many := ReadResult(t.Context(), []byte(`{"t":"`+strings.Repeat(awsKey+" ", maxFound+1)+`"}`), false)
	if !many.Unread {
		t.Error("more secrets than are noted count as read")
	}
	if broken := ReadResult(t.Context(), []byte(`{"t":`), false); !broken.Unread {
		t.Error("what is no JSON counts as read")
	}
}

// What is searched costs time in proportion to its size.
func TestReadResultIsQuick(t *testing.T) {
	began := time.Now()
	r := ReadResult(t.Context(), []byte(`{"t":"`+strings.Repeat("the token of the api key is sk-x AKIA ", 50_000)+`"}`), false)
	if took := time.Since(began); took > 15*resultDeadline {
		t.Errorf("2 MB took %v, unread %v", took, r.Unread)
	}
}

func FuzzReadResult(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"` + awsKey + `"}],"blob":"QUtJQQ=="}`))
	f.Add([]byte(`{"~/":{"":["-----BEGIN PRIVATE KEY-----"]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := ReadResult(t.Context(), body, false)
		var last holdgate.FoundSecret
		for i, s := range r.Secrets {
			if s.Start < 0 || s.End < s.Start || i > 0 && s.Pointer == last.Pointer && s.Name == last.Name && s.Start < last.End && !s.Encoded {
				t.Fatalf("secrets overlap: %+v", r.Secrets)
			}
			last = s
		}
	})
}
