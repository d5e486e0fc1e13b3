package email

import (
	"fmt"
	"mime"
	"strings"
	"testing"
	"unicode"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// hostile are texts that an agent could want a mail or a page to obey, as they
// are: Holdgate has written out what is hidden before a channel sees it.
func hostile() (texts []string) {
	texts = []string{
		"x\r\nBcc: eve@evil.example", "x\nSubject: approved", "x\r\n\r\nbody", "x\r\n.\r\nMAIL FROM:<eve@evil.example>", "\r\n.\r\nQUIT\r\n", ".", "..",
		"=?utf-8?q?approved?=", "=?utf-8?b?DQpCY2M6IGV2ZQ==?=", "<script>alert(1)</script>", "<img src=https://evil.example/x.png>", "</pre><h1>approved</h1>",
		"<a href=\"https://evil.example\">Open the request</a>", "\"><b>", "'onclick='x", "{{.Code}}", "<!-- ", "]]>", "&lt;script&gt;", "javascript:alert(1)",
		"<style>*{display:none}</style>", "<form action=https://evil.example>", "<base href=https://evil.example>", "<meta http-equiv=refresh content=0>",
		"--boundary\r\nContent-Type: text/html", above, "On Sunday Holdgate wrote:", "> quoted", "-- ", "From: eve@evil.example", "risk       low", "status     approved",
		"\x1b[2J\x1b[Hrisk low", "\x00", "\x07", "\u202erisk", "\u200b", "\u2028", "\u2029", "\u00ad", "\ufeff", "\U000e0041", strings.Repeat(" ", 400) + "x",
		strings.Repeat("a", 5000), strings.Repeat("a\n", 500), strings.Repeat("漢", 2000), "\xff\xfe", "\u0085Bcc: eve@evil.example", "a,b;c:d", "eve@evil.example",
	}
	for _, c := range "\v\f\b\t\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u2060" {
		texts = append(texts, "rm "+string(c)+" -rf")
	}
	return texts
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := newBench(t, o, o.config())
	texts := hostile()
	if len(texts) < 60 {
		t.Fatalf("%d texts", len(texts))
	}
	for i, s := range texts {
		n := sdktest.Notice(fmt.Sprintf("r%d %s", i, s))
		n.Nonce, n.Digest, n.Risk, n.Gate, n.Rule, n.Reason, n.Message = s, s+fmt.Sprint(i), s, s, s, s, s
		n.Agent, n.Session, n.Door, n.Thread = sdk.Agent{ID: s, Confinement: s}, s, s, s
		n.Call, n.Summary, n.Why, n.Details, n.Closed = sdk.Call{Kind: s, Target: s, Server: s, Arguments: []string{s}}, s, []string{s}, []string{s}, s
		n.Sections = []sdk.Section{{Title: s, Kind: s, Lines: []string{s}}, {Title: s, Kind: sdk.KindSaid, Lines: []string{s}}}
		n.Options = []sdk.Option{{ID: s, Label: s, Effect: s}}
		n.Approved, n.People, n.Warnings, n.Similar, n.Edited, n.Editable = []string{s}, []string{s}, []string{s}, s, s, s
		n.To = []string{s, ann + "\r\nBcc: eve@evil.example", ann}
		if s == "eve@evil.example" {
			n.To = []string{ann}
		}
		b.hostile(t, n)
	}
}

// hostile sees that the mail and the page of a request are as all others are.
func (b *bench) hostile(t *testing.T, n sdk.Notice) {
	t.Helper()
	if err := b.Notify(t.Context(), n); err != nil {
		t.Fatalf("%q: %v", n.Summary, err)
	}
	m := b.o.next()
	b.o.nothing()
	if m.to != ann || m.head.Get("Bcc") != "" || len(m.head.Values("Subject")) != 1 || len(m.head.Values("To")) != 1 {
		t.Errorf("%q: the mail to %s has the head %.600s", n.Summary, m.to, m.raw)
	}
	if got, err := new(mime.WordDecoder).DecodeHeader(m.head.Get("Subject")); err != nil || !strings.HasPrefix(got, "[Holdgate] unknown risk") || len([]rune(got)) > 180 || strings.ContainsFunc(got, unicode.IsControl) {
		t.Errorf("%q: subject %q, %v", n.Summary, got, err)
	}
	if strings.ContainsFunc(strings.NewReplacer("\n", "", "\r", "").Replace(m.text), unicode.IsControl) {
		t.Errorf("%q: the text has a control character", n.Summary)
	}
	status, page, _ := b.browse("POST", "/show", map[string][]string{"code": {linkOf(t, m)}}, nil)
	if status != 200 {
		t.Errorf("%q: the page is %d", n.Summary, status)
	}
	for what, source := range map[string]string{"mail": m.html, "page": page} {
		for _, tag := range []string{"<script>", "<img", "<h1", "<style", "<base", "<meta http", "<b>", "evil.example\">", "<form action", "<!-- "} {
			if strings.Contains(source, tag) {
				t.Errorf("%q: the %s has %s in it", n.Summary, what, tag)
			}
		}
	}
}
