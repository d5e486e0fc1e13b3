package corpus_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// otherMessages are the same messages of an AWS event stream in other frames.
func (s seed) otherMessages(yield func(name string, body []byte)) {
	whole := decoded(s.frame(s.events))
	for i := range whole {
		with := func(what string, change func(m *eventstream.Message)) {
			m := whole[i].Clone()
			change(&m)
			yield(fmt.Sprintf("message %d %s", i, what), encoded(slices.Concat(whole[:i], []eventstream.Message{m}, whole[i+1:])))
		}
		for h, one := range whole[i].Headers {
			for what, v := range map[string]eventstream.Value{
				"empty": eventstream.StringValue(""), "other": eventstream.StringValue("other"), "exception": eventstream.StringValue("exception"), "error": eventstream.StringValue("error"),
				"event": eventstream.StringValue("event"), "capitals": eventstream.StringValue(strings.ToUpper(one.Value.String())), "blank": eventstream.StringValue(one.Value.String() + " "),
				"bytes": eventstream.BytesValue([]byte(one.Value.String())), "number": eventstream.Int32Value(1), "yes": eventstream.BoolValue(true), "nul": eventstream.StringValue(one.Value.String() + "\x00"),
			} {
				header := eventstream.Header{Name: one.Name, Value: v}
				with(fmt.Sprintf("with %s %s", one.Name, what), func(m *eventstream.Message) { m.Headers[h] = header })
				with(fmt.Sprintf("with %s %s before", one.Name, what), func(m *eventstream.Message) { m.Headers = slices.Insert(m.Headers, h, header) })
				with(fmt.Sprintf("with %s %s behind", one.Name, what), func(m *eventstream.Message) { m.Headers = append(m.Headers, header) })
			}
			with("without "+one.Name, func(m *eventstream.Message) { m.Headers = slices.Delete(m.Headers, h, h+1) })
			with("with "+one.Name+" in capitals", func(m *eventstream.Message) { m.Headers[h].Name = strings.ToUpper(one.Name) })
		}
		with("with its headers backwards", func(m *eventstream.Message) { slices.Reverse(m.Headers) })
		with("without headers", func(m *eventstream.Message) { m.Headers = nil })
		with("without payload", func(m *eventstream.Message) { m.Payload = nil })
		with("with its payload twice", func(m *eventstream.Message) { m.Payload = append(m.Payload, m.Payload...) })
		for p := range placesOf(string(whole[i].Payload)) {
			for _, c := range changes() {
				tree := parseTree(string(whole[i].Payload))
				at := tree.places()[p]
				name := fmt.Sprintf("with payload's %s: %s", at.key(), c.name)
				if s.name == "invoke, streamed" && c.make(at) {
					with(name, func(m *eventstream.Message) { m.Payload = []byte(tree.String()) })
				}
			}
		}
		for what, text := range otherBase64(whole[i].Payload) {
			with("in base64 "+what, func(m *eventstream.Message) { m.Payload = []byte(`{"bytes":` + quoted(text) + `}`) })
		}
		raw := encoded(whole[i : i+1])
		for _, at := range []int{0, 4, 8, len(raw) - 1} {
			broken := bytes.Clone(raw)
			broken[at]++
			yield(fmt.Sprintf("message %d broken at %d", i, at), slices.Concat(encoded(whole[:i]), broken, encoded(whole[i+1:])))
		}
	}
}

func decoded(body []byte) []eventstream.Message {
	var all []eventstream.Message
	d, in := eventstream.NewDecoder(), bytes.NewReader(body)
	for in.Len() > 0 {
		m, err := d.Decode(in, nil)
		if err != nil {
			panic(err)
		}
		all = append(all, m)
	}
	return all
}

func encoded(all []eventstream.Message) []byte {
	var b bytes.Buffer
	for _, m := range all {
		if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// otherBase64 are the bytes of a chunk, written otherwise; nil of what is no chunk.
func otherBase64(payload []byte) map[string]string {
	var chunk struct{ Bytes []byte }
	if json.Unmarshal(payload, &chunk) != nil || chunk.Bytes == nil {
		return nil
	}
	text := base64.StdEncoding.EncodeToString(chunk.Bytes)
	return map[string]string{
		"without padding": base64.RawStdEncoding.EncodeToString(chunk.Bytes), "for URLs": base64.URLEncoding.EncodeToString(chunk.Bytes),
		"with a line end": text[:8] + "\r\n" + text[8:], "with a blank": text[:8] + " " + text[8:], "with more padding": text + "====",
		"twice": text + text, "of two documents": base64.StdEncoding.EncodeToString(append(chunk.Bytes, chunk.Bytes...)), "with other signs": text[:8] + "!" + text[8:],
		"in two parts": base64.StdEncoding.EncodeToString(chunk.Bytes[:7]) + base64.StdEncoding.EncodeToString(chunk.Bytes[7:]),
	}
}

// otherLines are the same documents as lines, or as elements of a list, in other
// places.
func (s seed) otherLines(yield func(name string, body []byte)) {
	all := string(s.frame(s.events))
	var docs []string
	for _, e := range s.events {
		docs = append(docs, e.doc)
	}
	for what, body := range map[string]string{
		"CRLF": strings.ReplaceAll(all, "\n", "\r\n"), "CR": strings.ReplaceAll(all, "\n", "\r"), "on one line": strings.Join(docs, ""), "blanks between": strings.Join(docs, " "),
		"commas between": strings.Join(docs, ","), "empty lines": strings.ReplaceAll(all, "\n", "\n\n \n"), "a mark before": "\ufeff" + all, "not ended": strings.TrimRight(all, "\n"),
		"lines of Unicode": strings.Join(docs, "\u2028"), "form feeds": strings.Join(docs, "\f"), "nul": strings.Join(docs, "\x00"), "a list": "[" + strings.Join(docs, ",") + "]", "two lists": all + all,
		"a list in a list": "[" + all + "]", "no comma": strings.ReplaceAll(all, ",\r\n", ""), "two commas": strings.ReplaceAll(all, ",\r\n", ",,"), "a comma at the end": strings.Replace(all, "\n]", ",]", 1),
		"events": "data: " + strings.Join(docs, "\n\ndata: ") + "\n\n", "record separators": "\x1e" + strings.Join(docs, "\n\x1e"), "over lines": strings.ReplaceAll(all, ",", ",\n"),
		"as an object": `{"0":` + strings.Join(docs, `,"1":`) + "}", "UTF-16": utf16(all),
	} {
		yield("all with "+what, []byte(body))
	}
}
