package model_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate/proxy/wire"
)

// An oddAnswer is one in which a call is hidden from who looks for it.
type oddAnswer struct {
	name   string
	header http.Header // besides the dialect's type
	status int         // 200 where it is none
	body   string
	plain  bool // the client asks for one document, and is told that it comes
}

// oddTransport hides a dialect's usual answers in how they are sent.
func (d dialect) oddTransport() []oddAnswer {
	stream, coded := d.frame(d.events), func(name string) http.Header { return http.Header{"Content-Encoding": {name}} }
	typed := func(typ ...string) http.Header { return http.Header{"Content-Type": typ} }
	deflated := func(s string) string {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		_, _ = io.WriteString(z, s)
		_ = z.Close()
		return b.String()
	}
	answers := []oddAnswer{
		{name: "two codings", header: coded("gzip, br"), body: proxytest.Gzipped(stream)},
		{name: "two codings in two headers", header: http.Header{"Content-Encoding": {"identity", "gzip"}}, body: proxytest.Gzipped(stream)},
		{name: "a coding that it does not have", header: coded("gzip"), body: stream},
		{name: "a coding that nobody knows", header: coded("own"), body: stream},
		{name: "a coding in capitals", header: coded("GZIP"), body: proxytest.Gzipped(stream)},
		{name: "a coding that is not named", body: proxytest.Gzipped(stream)},
		{name: "coded twice", header: coded("gzip"), body: proxytest.Gzipped(proxytest.Gzipped(stream))},
		{name: "gzip and then not", header: coded("gzip"), body: proxytest.Gzipped("") + stream},
		{name: "gzip in two members", header: coded("gzip"), body: proxytest.Gzipped(stream[:9]) + proxytest.Gzipped(stream[9:])},
		{name: "deflate and then not", header: coded("deflate"), body: deflated("\n") + stream},
		{name: "deflate", header: coded("deflate"), body: deflated(stream)},
		{name: "a part of the answer", status: 206, header: http.Header{"Content-Range": {"bytes 0-9/10"}}, body: stream},
		{name: "another success", status: 203, body: stream},
		{name: "a success that nobody knows", status: 299, body: stream},
		{name: "several choices", status: 300, body: stream},
		{name: "not modified", status: 304, body: stream},
		{name: "an error", status: 418, body: stream},
		{name: "a document that is an error", status: 500, header: typed("application/json"), body: d.plain, plain: true},
		{name: "a document that is an error, as text", status: 400, header: typed("text/plain"), body: d.plain, plain: true},
		{name: "a document in a list that is an error", status: 429, header: typed("application/json"), body: "[" + d.plain + "]", plain: true},
		{name: "a document in UTF-16 that is an error", status: 400, header: typed("application/json"), body: proxytest.UTF16(d.plain), plain: true},
		{name: "several parts", header: typed("multipart/mixed; boundary=b"), body: "--b\r\nContent-Type: " + d.typ + "\r\n\r\n" + stream + "\r\n--b--"},
		{name: "two types", header: typed(d.typ, "application/json"), body: stream},
		{name: "a type with a parameter", header: typed(d.typ + `; a="b;c"`), body: stream},
		{name: "a type with a broken parameter", header: typed(d.typ + "; charset"), body: stream},
		{name: "a type with its charset twice", header: typed(d.typ + "; charset=utf-8; charset=utf-16"), body: stream},
		{name: "a type in capitals", header: typed(strings.ToUpper(d.typ)), body: stream},
		{name: "a document in UTF-7", header: typed("application/json; charset=utf-7"), body: d.plain, plain: true},
		{name: "a list of one document", header: typed("application/json"), body: "[" + d.plain + "]", plain: true},
		{name: "a document in UTF-16", header: typed("application/json"), body: proxytest.UTF16(d.plain), plain: true},
		{name: "a document behind a mark of the order of bytes", header: typed("application/json"), body: "\ufeff" + d.plain, plain: true},
		{name: "a document behind a NUL", header: typed("application/json"), body: "\x00" + d.plain, plain: true},
		{name: "a document as a sequence", header: typed("application/json-seq"), body: "\x1e" + d.plain + "\n", plain: true},
		{name: "a document as a script", header: typed("application/javascript"), body: "f(" + d.plain + ")", plain: true},
		{name: "a document behind a guard", header: typed("application/json"), body: ")]}'\n" + d.plain, plain: true},
		{name: "a document with a comment", header: typed("application/json"), body: "/* {} */" + d.plain, plain: true},
		{name: "a document with a comma too many", header: typed("application/json"), body: strings.Replace(d.plain, "}", ",}", 1), plain: true},
		{name: "a document as a text", header: typed("application/json"), body: string(wire.AppendText(nil, d.plain)), plain: true},
		{name: "a document as a line", header: typed("application/x-ndjson"), body: d.plain + "\n", plain: true},
		{name: "a document in base64", header: typed("application/json"), body: base64.StdEncoding.EncodeToString([]byte(d.plain)), plain: true},
		{name: "a document with a NUL in a name", header: typed("application/json"), body: strings.Replace(d.plain, `"name":"Bash"`, `"name\u0000":"Read","name":"Bash"`, 1), plain: true},
		{name: "a document with half a character in a name", header: typed("application/json"), body: strings.Replace(d.plain, `"Bash"`, `"Ba\ud83dsh"`, 1), plain: true},
	}
	if strings.HasPrefix(d.typ, "text/") || strings.Contains(d.typ, "json") {
		answers = append(answers, d.oddLines(stream)...)
	}
	return answers
}

// oddLines hides a stream of lines in how its lines are written.
func (d dialect) oddLines(stream string) []oddAnswer {
	each := func(old, new string) string { return strings.ReplaceAll(stream, old, new) }
	return []oddAnswer{
		{name: "a mark of the order of bytes", body: "\ufeff" + stream},
		{name: "two of them", body: "\ufeff\ufeff" + stream},
		{name: "UTF-16", body: proxytest.UTF16(stream)},
		{name: "UTF-16 that says so", header: http.Header{"Content-Type": {d.typ + "; charset=utf-16le"}}, body: proxytest.UTF16(stream)[2:]},
		{name: "a NUL at the beginning", body: "\x00" + stream},
		{name: "a NUL behind each line", body: each("\n", "\x00\n")},
		{name: "CR alone", body: each("\n", "\r")},
		{name: "CR CR LF", body: each("\n", "\r\r\n")},
		{name: "a next line of Unicode", body: each("\n", "\u0085")},
		{name: "a form feed", body: each("\n", "\f")},
		{name: "a blank before each colon", body: each("data:", "data :")},
		{name: "a blank before each field", body: each("data:", " data:")},
		{name: "a tab behind each colon", body: each("data: ", "data:\t")},
		{name: "no blank behind each colon", body: each("data: ", "data:")},
		{name: "blanks behind each line", body: each("\n", " \t\n")},
		{name: "fields in capitals", body: each("data:", "DATA:")},
		{name: "in comments that end early", body: each("data:", ": \rdata:")},
		{name: "in a field that nobody knows", body: each("data:", "datum:")},
		{name: "an id before each", body: each("data:", "id: 1\nretry: 2\ndata:")},
		{name: "an empty field before each", body: each("data:", "data:\ndata:")},
		{name: "an object before each", body: each("data: {", "data: {}\ndata: {")},
		{name: "a line end in each object", body: each("data: {", "data: {\ndata: ")},
		{name: "no blank lines", body: each("\n\n", "\n")},
		{name: "no end", body: strings.TrimRight(stream, "\n")},
		{name: "behind the end of another", body: "data: [DONE]\n\n" + stream},
		{name: "events in a list", body: each("data: {", "data: [{")},
		{name: "all in one line", body: "data: " + strings.ReplaceAll(strings.ReplaceAll(stream, "data: ", ""), "\n", " ") + "\n\n"},
	}
}

// reaches reports whether a client of any kind finds the marker in an answer.
func reaches(resp *http.Response, body []byte) bool {
	for range 3 {
		if strings.Contains(plainly64(body), marker) || strings.Contains(plainly64(wire.Narrow(body)), marker) {
			return true
		}
		for _, coding := range []string{"gzip", "deflate"} {
			if r, err := wire.Decode(bytes.NewReader(body), coding, 1<<20); err == nil {
				if decoded, _ := io.ReadAll(r); len(decoded) > 0 {
					body = decoded
				}
			}
		}
		if text, err := base64.StdEncoding.DecodeString(string(body)); err == nil {
			body = text
		}
	}
	return strings.Contains(resp.Header.Get("Content-Range"), marker)
}

// However odd an answer is, a call in it is seen and refused, or the answer is.
func TestNoOddAnswerBringsACallToTheAgent(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			current := make(chan oddAnswer, 1)
			g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				a := <-current
				w.WriteHeader(http.StatusEarlyHints)
				w.Header().Set("Content-Type", d.typ)
				for name, values := range a.header {
					w.Header()[name] = values
				}
				w.WriteHeader(max(a.status, 200))
				inPieces(w, a.body)
			}), proxytest.WithPolicy(t, denyCalls))
			for _, a := range append(d.oddTransport(), oddContent(d.name)...) {
				current <- a
				path, ask := d.path, d.ask
				if a.plain {
					path, ask = d.plainPath, strings.Replace(d.ask, `"stream":true`, `"stream":false`, 1)
				}
				resp := g.Post(t.Context(), path, ask)
				body, err := io.ReadAll(resp.Body) // an answer that is cut off is one that was refused
				resp.Body.Close()
				if reaches(resp, body) {
					t.Errorf("%s: the call reached the agent: status %d, %v: %q", a.name, resp.StatusCode, err, body)
				}
			}
		})
	}
}
