package briefing

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
)

// result says what a call has brought, before what the call was: whether the
// agent may have that is the question.
func (b *briefer) result(c holdgate.Call) {
	asked := c
	asked.Result = nil
	made := newBriefer(0, holdgate.Decision{}).call(asked)
	what := "what was brought by: "
	if c.Result.IsError {
		what = "the error that came of: "
	}
	b.summary("Gives the agent " + what + made.b.Summary)
	b.because("the call was made already; this is about its result")
	if c.Result.Unread {
		b.because("not all of the result could be searched for credentials")
	}
	b.section("the result", KindArguments, resultLines(c.Result.Body))
	b.b.Sections = append(b.b.Sections, made.b.Sections...)
	b.b.Counts.Cut += made.b.Counts.Cut
	b.b.Whole = b.b.Whole && made.b.Whole
}

// resultLines shows a result: the texts of its content as they read, everything
// else by name.
func resultLines(body []byte) []string {
	ms, ok := members(body)
	if !ok {
		return strings.Split(string(body), "\n")
	}
	content, rest := splitMembers(ms, "content")
	var lines []string
	for _, m := range content {
		lines = append(lines, contentLines(m)...)
	}
	return append(lines, listed(rest)...)
}

func contentLines(m member) (lines []string) {
	blocks, ok := objects(m.raw)
	if !ok {
		return listed([]member{m})
	}
	for i, block := range blocks {
		text, rest := splitMembers(block, "text")
		kind, others := splitMembers(rest, "type")
		if len(text) == 1 && text[0].isText && len(others) == 0 && len(kind) == 1 && kind[0].text == "text" {
			lines = append(lines, strings.Split(text[0].text, "\n")...)
			continue
		}
		lines = append(lines, listed([]member{{name: "content " + strconv.Itoa(i), raw: whole(block)}})...)
	}
	return lines
}

// whole puts members together again.
func whole(ms []member) jsontext.Value {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range ms {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := jsontext.AppendQuote(nil, m.name) // it was read as text
		b.Write(append(name, ':'))
		b.Write(m.raw)
	}
	b.WriteByte('}')
	return b.Bytes()
}
