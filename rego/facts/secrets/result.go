package secrets

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// Bounds of what is done for one result.
const (
	maxResultText  = 64 << 10
	maxResultBytes = 8 << 20
	maxResultSteps = 8_000_000
	resultDeadline = 2 * time.Second
	maxFound       = 1000 // secrets
)

// ReadResult reads what an MCP server has answered: the text in it and the
// credentials, in every text, in the names of members, and in encoded data (blob,
// data) that is text. It never fails: what was not searched is said (Unread). The
// body is strict JSON; the result shares its memory.
func ReadResult(ctx context.Context, body []byte, isError bool) *holdgate.Result {
	r := &resultReader{
		Result: holdgate.Result{Body: body, IsError: isError}, ctx: ctx, until: time.Now().Add(resultDeadline),
		dec: jsontext.NewDecoder(strings.NewReader(string(body))),
	}
	r.read()
	r.Text = r.said.String()
	return &r.Result
}

// InArguments finds the credentials in the arguments of a tool call, an object of strict
// JSON: what [ReadResult] finds, and values that a name calls a secret, be it in a text or
// the name of a member. False: not all was searched.
func InArguments(ctx context.Context, arguments []byte) ([]holdgate.FoundSecret, bool) {
	r := &resultReader{
		Result: holdgate.Result{Body: arguments}, ctx: ctx, until: time.Now().Add(resultDeadline),
		dec: jsontext.NewDecoder(bytes.NewReader(arguments)), named: true,
	}
	r.read()
	return r.Secrets, !r.Unread
}

// Mentions reports whether arguments have a word that names secrets, so that [InArguments]
// may find more in them than facts do.
func Mentions(arguments []byte) (is bool) {
	named().finder.each(string(arguments), func(int, int) { is = true })
	return is || mentioned.Match(arguments)
}

// mentioned are what members are called besides, and escapes, which may spell any name.
var mentioned = lazyregexp.New(`(?i)pass|pwd|cookie|\\u`)

// read reads the whole body.
func (r *resultReader) read() {
	r.Unread = len(r.Body) > maxResultBytes
	if err := r.guarded(func() error { return r.value("", "") }); err != nil {
		r.Unread = true
	}
}

// A resultReader walks through one result.
type resultReader struct {
	holdgate.Result

	ctx   context.Context
	until time.Time
	steps int
	dec   *jsontext.Decoder
	said  strings.Builder
	named bool   // values that a name calls a secret are found too
	last  string // the text before
}

var errResultBudget = errors.New("too much work")

// guarded runs f; a fault in here must not look like a result without secrets.
func (r *resultReader) guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errResultBudget
		}
	}()
	return f()
}

func (r *resultReader) work(n int) {
	before := r.steps / 1024
	r.steps += n
	if r.steps > maxResultSteps || r.steps/1024 != before && (r.ctx.Err() != nil || time.Now().After(r.until)) {
		panic(errResultBudget)
	}
}

// value reads one value, under a pointer and the name that it has in an object.
func (r *resultReader) value(pointer, name string) error {
	t, err := r.dec.ReadToken()
	if err != nil {
		return err
	}
	switch t.Kind() {
	case '"':
		r.text(pointer, name, t.String())
	case '{', '[':
		return r.members(pointer, name, t.Kind() == '{')
	}
	return nil
}

func (r *resultReader) members(pointer, name string, object bool) error {
	var words []string // of a list, until something else comes
	for n := 0; ; n++ {
		kind := r.dec.PeekKind()
		switch kind {
		case '}', ']':
			r.inWords(pointer, words)
			_, err := r.dec.ReadToken()
			return err
		case 0:
			return io.ErrUnexpectedEOF
		}
		part := strconv.Itoa(n)
		if object {
			t, err := r.dec.ReadToken()
			if err != nil {
				return err
			}
			name = t.String()
			part = pointerEscapes.Replace(name)
			r.find(holdgate.FoundSecret{Pointer: pointer + "/" + part, Name: true}, name)
		}
		if err := r.value(pointer+"/"+part, name); err != nil {
			return err
		}
		if r.named && !object && kind == '"' && len(words) == n {
			words = append(words, r.last)
		}
	}
}

// inWords finds what is named as a secret in a list of texts, the words of a command.
func (r *resultReader) inWords(pointer string, words []string) {
	if len(words) < 2 {
		return
	}
	r.eachNamed(strings.Join(words, " "), func(start, end int, kind string) {
		for i, word := range words {
			if start >= 0 && end <= len(word) && start < end {
				at := holdgate.FoundSecret{Pointer: pointer + "/" + strconv.Itoa(i), Kind: kind, Start: start, End: end}
				if !slices.ContainsFunc(r.Secrets, func(s holdgate.FoundSecret) bool { return s.Pointer == at.Pointer }) {
					r.Secrets = append(r.Secrets, at)
				}
			}
			start, end = start-len(word)-1, end-len(word)-1
		}
	})
}

// eachNamed calls found for each value in a text that is named as a secret.
func (r *resultReader) eachNamed(s string, found func(start, end int, kind string)) {
	named().each(s, r.work, func(rule *rule, start, end int) {
		line := s[strings.LastIndexByte(s[:start], '\n')+1 : start]
		if rule.ID == optionRule && (strings.Contains(line, " -- ") || asked.MatchString(line[strings.LastIndexAny(strings.TrimRight(line, " \t="), " \t")+1:])) {
			return
		}
		if end, is := namedIn(s, start, end, rule.Kind); is && !notSecret.MatchString(strings.TrimRight(line, "=: \t\"'`")) {
			found(start, end, rule.Kind)
		}
	})
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func (r *resultReader) text(pointer, name, s string) {
	r.last = s
	if !r.named && (name == "blob" || name == "data") {
		if data, err := base64.StdEncoding.DecodeString(s); err == nil {
			if utf8.Valid(data) {
				r.find(holdgate.FoundSecret{Pointer: pointer, Encoded: true}, string(data))
			}
			return
		}
	}
	if r.named && namesSecret(name) && memberSecret(name, s) {
		r.Secrets = append(r.Secrets, holdgate.FoundSecret{Pointer: pointer, Kind: namedValue, End: len(s)})
		return
	}
	r.find(holdgate.FoundSecret{Pointer: pointer}, s)
	if name == "type" || name == "mimeType" {
		return
	}
	room := maxResultText - r.said.Len()
	if len(s)+1 > room {
		s, r.Cut = strings.ToValidUTF8(s[:max(0, min(len(s), room-1))], ""), true
	}
	if s != "" {
		r.said.WriteString(s + "\n")
	}
}

// find notes the secrets in a text, each place once.
func (r *resultReader) find(at holdgate.FoundSecret, s string) {
	if r.Unread {
		return
	}
	type span struct {
		start, end int
		kind       string
	}
	var spans []span
	for _, shape := range shapes {
		r.work(1 + len(s)/1024)
		for i := 0; ; {
			n := strings.Index(s[i:], shape.hint)
			if n < 0 {
				break
			}
			i += n
			r.work(1)
			m := shape.pattern.FindStringSubmatchIndex(s[i:])
			if m == nil || partOfWord(s, i, shape.hint) {
				i += len(shape.hint)
				continue
			}
			start, end := i, i+m[1]
			switch {
			case shape.kind == "private_key" && r.named:
				end += len(keyBody.FindString(s[end:]))
			case shape.kind == "private_key":
				end = keyEnd(s, end)
			case shape.kind == "url_password":
				start, end = i+m[2], i+m[3]
			}
			spans = append(spans, span{start, end, shape.kind})
			i = end
		}
	}
	if len(s) >= shortToken {
		table().each(s, r.work, func(rule *rule, start, end int) { spans = append(spans, span{start, end, rule.Kind}) })
	}
	if r.named {
		r.eachNamed(s, func(start, end int, kind string) { spans = append(spans, span{start, end, kind}) })
	}
	if r.named { // people approve the rest: nothing that could run is hidden from them
		spans = slices.DeleteFunc(spans, func(sp span) bool {
			return sp.kind != "private_key" && strings.ContainsAny(s[sp.start:sp.end], "$`(){}|;&<>\n")
		})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	for _, sp := range spans {
		if last := len(r.Secrets) - 1; last >= 0 {
			l := &r.Secrets[last]
			if l.Pointer == at.Pointer && l.Name == at.Name && (at.Encoded || sp.start < l.End) {
				l.End = max(l.End, sp.end)
				continue
			}
		}
		if len(r.Secrets) == maxFound {
			r.Unread = true
			return
		}
		at.Kind, at.Start, at.End = sp.kind, sp.start, sp.end
		r.Secrets = append(r.Secrets, at)
	}
}

// keyBody is what stands behind the first line of a private key.
var keyBody = lazyregexp.New(`^(?:(?:\\n|[ \t]*\r?\n[ \t]*)(?:[A-Z][\w-]*: [\w,.-]+|[A-Za-z0-9+/=]{16,}|))*(?:(?:\\n|[ \t]*\r?\n[ \t]*)[A-Za-z0-9+/=]+)?(?:\\n|[ \t]*\r?\n[ \t]*)-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|^(?:(?:\\n|[ \t]*\r?\n[ \t]*)(?:[A-Z][\w-]*: [\w,.-]+|[A-Za-z0-9+/=]{16,}))*`)

// keyEnd is where a private key ends whose first line ends at i.
func keyEnd(s string, i int) int {
	rest := s[i:]
	n := strings.Index(rest, "-----END ")
	if n < 0 {
		return len(s)
	}
	m := strings.Index(rest[n+len("-----END "):], "-----")
	if m < 0 {
		return len(s)
	}
	return i + n + len("-----END ") + m + len("-----")
}
