package secrets

import (
	"context"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
)

// concealed stands where a credential was.
const concealed = "[redacted]"

// Conceal returns a text that may quote a call without the credentials in it.
// The values are those of the call, of [Values]; what looks like a credential
// by itself is concealed too.
func Conceal(text string, values []string) string {
	for _, v := range values {
		text = strings.ReplaceAll(text, v, concealed)
	}
	spans, ok := Spans(text)
	if !ok {
		return concealed
	}
	var b strings.Builder
	done := 0
	for _, s := range spans {
		b.WriteString(text[done:s.Start] + concealed)
		done = s.End
	}
	b.WriteString(text[done:])
	text = b.String()
	if joined, divided := Unquote(text); divided {
		if spans, ok := Spans(joined); !ok || len(spans) > 0 {
			return concealed
		}
	}
	return text
}

// Spans are those in one text, with values that a name calls a secret; false where it could
// not be searched.
func Spans(text string) ([]holdgate.FoundSecret, bool) {
	r := &resultReader{ctx: context.Background(), until: time.Now().Add(resultDeadline), named: true}
	if err := r.guarded(func() error { r.find(holdgate.FoundSecret{}, text); return nil }); err != nil || r.Unread {
		return nil, false
	}
	return r.Secrets, true
}
