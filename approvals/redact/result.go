package redact

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
)

// Result returns a result's body without what the JSON pointers (into
// the policy's input) name: a value below /result/body becomes the string
// "[redacted]", and for /result/secrets each credential that was found does, in
// the text that it is in. All other bytes stay. hidden counts what was replaced;
// ok is false where a pointer names the result as a whole, or a part of it that
// cannot be taken out, so that nothing of it may go on.
func Result(r *holdgate.Result, pointers []string) (body []byte, hidden int, ok bool) {
	m := newMask(slices.DeleteFunc(slices.Clone(pointers), func(p string) bool { return !aboutResult(p) }))
	if m.covers("result", "body") || m.covers("result", "text") {
		return nil, 0, false
	}
	return m.result(r, m.reaches("result", "secrets"))
}

// aboutResult reports whether a pointer names a result, or what it is part of.
func aboutResult(p string) bool {
	return !strings.HasPrefix(p, "/") || p == "/" || p == "/result" || strings.HasPrefix(p, "/result/")
}

// shownResult is a result as people may see it: without any credential, whatever
// the policy lets the agent have. One that could not be searched is not shown.
func (m *mask) shownResult(r *holdgate.Result) *holdgate.Result {
	shown := *r
	shown.Secrets = nil
	body, hidden, ok := []byte(nil), 1, false
	if !r.Unread && !m.covers("result", "body") && !m.covers("result", "text") {
		body, hidden, ok = m.result(r, true)
	}
	if !ok {
		body = []byte(`"` + Hidden + `"`)
	}
	m.hidden += hidden
	shown.Body, shown.Text = body, ""
	return &shown
}

// result takes out of a body what the mask names, and the credentials where
// secrets says so.
func (m *mask) result(r *holdgate.Result, secrets bool) (body []byte, hidden int, ok bool) {
	own := mask{paths: m.paths}
	w := maskWalk{mask: &own, raw: r.Body, dec: jsontext.NewDecoder(bytes.NewReader(r.Body))}
	if secrets {
		w.conceal(r.Secrets)
	}
	if err := w.value([]string{"result", "body"}); err != nil {
		return nil, 1, false
	}
	return append(w.out, w.raw[w.copied:]...), own.hidden, true
}

// conceal has what was found hidden, each in the text that it is in.
func (w *maskWalk) conceal(found []holdgate.FoundSecret) {
	w.secrets = map[secretPlace][]holdgate.FoundSecret{}
	for _, s := range found {
		at := secretPlace{s.Pointer, s.Name}
		w.secrets[at] = append(w.secrets[at], s)
	}
}

// A secretPlace is a text in a result, or the name of the member there.
type secretPlace struct {
	pointer string
	name    bool
}

// name reads a member's name, without secrets, and returns it as it was.
func (w *maskWalk) name(path []string) (string, error) {
	if w.secrets == nil {
		t, err := w.dec.ReadToken()
		return t.String(), err
	}
	return w.text(path, true)
}

// text reads one text and hides the secrets in it. It returns the text as it was.
func (w *maskWalk) text(path []string, name bool) (string, error) {
	v, err := w.dec.ReadValue()
	if err != nil {
		return "", err
	}
	plain, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return "", err
	}
	s := string(plain)
	at := secretPlace{pointerTo(path), name}
	if name {
		at.pointer = pointerTo(append(slices.Clip(path), s))
	}
	found := w.secrets[at]
	if len(found) == 0 {
		return s, nil
	}
	var out strings.Builder
	last := 0
	for _, f := range found {
		if f.Encoded {
			out.WriteString(base64.StdEncoding.EncodeToString([]byte(Hidden)))
			last = len(s)
			break
		}
		out.WriteString(s[last:f.Start] + Hidden)
		last = f.End
	}
	out.WriteString(s[last:])
	quoted, err := jsontext.AppendQuote(nil, out.String())
	if err != nil {
		return "", err
	}
	end := int(w.dec.InputOffset())
	w.out = append(append(w.out, w.raw[w.copied:end-len(v)]...), quoted...)
	w.copied = end
	w.mask.hidden += len(found)
	return s, nil
}

// pointerTo is the pointer into a result's body to what is at a path of input.
func pointerTo(path []string) string {
	var b strings.Builder
	for _, part := range path[len([]string{"result", "body"}):] {
		b.WriteString("/" + pointerEscapes.Replace(part))
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
